# SPDX-License-Identifier: Apache-2.0
"""dataclass and Protocol for the modules that every load needs. Importing dataclasses and typing would cost more than they do.

What this dataclass makes is one to the functions of dataclasses too. Fields that begin with "_" are not compared and not shown.
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from typing import Protocol as Protocol
else:
    Protocol = object

    def dataclass(cls=None, *, frozen=False):
        """As dataclasses.dataclass, with these arguments. Defaults are values that can be shared."""
        if cls is None:
            return lambda cls: _make(cls, frozen)
        return _make(cls, frozen)


def _make(cls, frozen):
    fields = {**getattr(cls, "_annotated", {}), **cls.__annotations__}
    public = tuple(name for name in fields if not name.startswith("_"))
    cls._annotated, cls.__match_args__, cls.__dataclass_fields__ = fields, public, _Fields()
    cls.__init__ = _initializer(cls, fields)
    cls.__repr__ = _repr
    cls.__eq__ = _eq
    cls.__hash__ = _hash if frozen else None
    if frozen:
        cls.__setattr__, cls.__delattr__ = _refuse_set, _refuse_delete
    return cls


def _initializer(cls, fields):
    """A function with the fields as its parameters."""
    known = {f"default_{name}": getattr(cls, name) for name in fields if hasattr(cls, name)}
    parameters = ", ".join(f"{name}=default_{name}" if f"default_{name}" in known else name for name in fields)
    lines = [f"    set(self, {name!r}, {name})" for name in fields] or ["    pass"]
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    made = {}
    exec(f"def __init__(self, {parameters}):\n" + "\n".join(lines), {"set": object.__setattr__, **known}, made)
    made["__init__"].__annotations__ = {**fields, "return": None}
    made["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return made["__init__"]


def _values(self):
    return tuple(getattr(self, name) for name in self.__match_args__)


def _repr(self):
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({shown})"


def _eq(self, other):
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self):
    return hash(_values(self))


def _refuse_set(self, name, value):
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self, name):
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


class _Fields:
    """What dataclasses looks at, made when it does."""

    def __get__(self, instance, owner):
        import dataclasses

        made = [(name, kind, dataclasses.field(**_options(owner, name))) for name, kind in owner._annotated.items()]
        return dataclasses.make_dataclass(owner.__name__, made).__dataclass_fields__


def _options(owner, name):
    hidden = name.startswith("_")
    options = {"repr": not hidden, "compare": not hidden, "init": True}
    return {**options, "default": getattr(owner, name)} if hasattr(owner, name) else options
