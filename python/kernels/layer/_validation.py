# SPDX-License-Identifier: Apache-2.0
"""May a kernel layer stand in for a host layer? It must be a forward and nothing else, with the host's parameters."""

import weakref

_FLAGS = frozenset(("can_torch_compile", "has_backward"))
_ANNOTATIONS = frozenset(("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"))

_validated: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # host class -> kernel layers that fit


def validate_once(*, check_cls: type, cls: type, repo) -> None:
    """_validate_layer, remembered for each pair of classes."""
    fitting = _validated.setdefault(check_cls, weakref.WeakSet())
    if cls not in fitting:
        _validate_layer(check_cls=check_cls, cls=cls, repo=repo)
        fitting.add(cls)


def _validate_layer(*, check_cls: type, cls: type, repo) -> None:
    """TypeError when `cls`, from `repo`, cannot stand in for the host class `check_cls`."""
    import torch.nn as nn

    if not (isinstance(cls, type) and issubclass(cls, nn.Module)):
        raise TypeError(f"Layer `{cls}` is not a Torch layer: it must be a class derived from torch.nn.Module")
    if cls.__init__ is not nn.Module.__init__:
        raise TypeError(f"{repo} must not override the constructor of torch.nn.Module: kernel layers have no state")
    added = _members(cls) - _members(nn.Module) - _FLAGS - _ANNOTATIONS
    if added:
        raise TypeError(
            f"{repo} must not contain additional members: {', '.join(sorted(added))}. What it uses must be in the "
            f"layer that it stands in for, `{check_cls.__name__}`"
        )
    _validate_signature(check_cls, cls, repo)


def _validate_signature(check_cls: type, cls: type, repo) -> None:
    from inspect import signature

    host = signature(check_cls.forward).parameters.values()
    kernel = signature(cls.forward).parameters.values()
    if len(host) != len(kernel):
        raise TypeError(
            f"Forward signature of {repo} has a different number of arguments than `{check_cls.__name__}`: "
            f"{len(kernel)} instead of {len(host)}, counting self"
        )
    for ours, theirs in zip(host, kernel):
        if ours.kind != theirs.kind:
            raise TypeError(
                f"Forward signature of {repo} has different kind of arguments than `{check_cls.__name__}`: "
                f"{theirs.name} is {theirs.kind.description}, {ours.name} is {ours.kind.description}"
            )


def _members(cls: type) -> set[str]:
    """Not remembered for nn.Module: torch.compile adds some to it when it is first used."""
    from inspect import getmembers

    return {name for name, _ in getmembers(cls)}
