# SPDX-License-Identifier: Apache-2.0
"""Putting the forward of a kernel layer into an instance of a host layer, and taking it out again.

An attribute `forward` of the instance would be bound to this very instance, also in shallow copies of it and in the
replicas of nn.DataParallel. So the instance only says which function it uses, and its class looks that up when
`forward` is read: the function then gets whatever instance it was read from. Seen through the class, `forward` is
still the function that the class was written with.
"""

import types

_KEY = "_kernels_forward"


class _Kernel:
    """In the dictionary of an instance: what to run in place of the forward of its class."""

    __slots__ = ("function", "place", "foreign")

    def __init__(self, function, place: "_HostForward", foreign=None):
        self.function = function  # a function that takes the instance
        self.place = place  # for which forward it stands in: super().forward is another one
        self.foreign = foreign  # a forward that somebody else had put into the instance; given back by release

    def __deepcopy__(self, memo):
        if self.foreign is None:
            return self
        from copy import deepcopy

        return _Kernel(self.function, self.place, deepcopy(self.foreign, memo))

    def __copy__(self):
        return self

    def __reduce__(self):
        return type(None), ()  # a pickled model is the original one, and needs nothing of this package to be loaded


class _HostForward:
    """The forward of a host class. Written for torch.compile to trace: nothing but look-ups."""

    def __init__(self, original):
        self.original = original
        self._kernels: dict[type, _Kernel] = {}  # layer -> what instances that use it have: one, so that torch.compile
        # does not compile again when a model is kernelized again

    def kernel(self, layer: type) -> _Kernel:
        """What an instance has when the forward of this kernel layer stands in for this one."""
        found = self._kernels.get(layer)
        if found is None:
            found = self._kernels[layer] = _Kernel(_function_of(layer), self)
        return found

    def __get__(self, instance, owner=None):
        if instance is None:
            return self.original.__get__(None, owner)
        kernel = instance.__dict__.get(_KEY)
        if kernel is None or kernel.place is not self:
            return self.original.__get__(instance, owner)
        return kernel.function.__get__(instance, owner)


def kernel_of(host: type, layer: type) -> _Kernel:
    """To be bound to instances of a host class."""
    return _place_of(host).kernel(layer)


def _place_of(host: type) -> _HostForward:
    """Makes the forward of a host class replaceable, once."""
    from inspect import getattr_static

    forward = getattr_static(host, "forward")
    if not isinstance(forward, _HostForward):
        forward = _HostForward(forward)
        host.forward = forward
    return forward


def _function_of(layer: type):
    """The forward of a kernel layer as a function that takes an instance."""
    forward = layer.forward
    if isinstance(forward, types.FunctionType):
        return forward

    def call(self, *args, **kwargs):
        return forward(self, *args, **kwargs)

    return call


def bind(module, kernel: _Kernel) -> None:
    """Lets an instance use a kernel from now on."""
    attributes = module.__dict__
    bound = attributes.get(_KEY)
    if bound is kernel and "forward" not in attributes:
        return
    foreign = bound.foreign if bound else None
    if "forward" in attributes:
        foreign = _foreign(attributes.pop("forward"), bound) or foreign
    attributes[_KEY] = kernel if foreign is None else _Kernel(kernel.function, kernel.place, foreign)


def release(module) -> None:
    """Gives an instance back the forward that it had before."""
    attributes = module.__dict__
    bound = attributes.pop(_KEY, None)
    if bound is None:
        return
    if "forward" in attributes and _foreign(attributes["forward"], bound) is None:
        del attributes["forward"]
    if bound.foreign is not None:
        attributes.setdefault("forward", bound.foreign)


def _foreign(forward, bound: _Kernel | None):
    """None for what is a kernel of ours that somebody read from the instance and put into it."""
    return None if bound and getattr(forward, "__func__", None) is bound.function else forward
