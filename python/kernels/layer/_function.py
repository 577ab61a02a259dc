# SPDX-License-Identifier: Apache-2.0
"""Functions as layers: a module whose forward is the function."""


def _create_func_module(func) -> type:
    """A new module class whose forward calls `func`; its flags are those of the function.

    Positional-only parameters make its `self` positional-only. A function without a signature gets (*args, **kwargs).
    """
    import torch.nn as nn

    class Func(nn.Module):
        can_torch_compile = getattr(func, "can_torch_compile", False)
        has_backward = getattr(func, "has_backward", True)

        def forward(self, *args, **kwargs):
            return func(*args, **kwargs)

    Func.forward.__signature__ = _method_signature(func)
    return Func


def _method_signature(func):
    """The inspect.Signature of `func` as a method."""
    import inspect

    kind = inspect.Parameter
    try:
        signature = inspect.signature(func)
    except ValueError:  # some builtins tell none
        variadic = [kind("args", kind.VAR_POSITIONAL), kind("kwargs", kind.VAR_KEYWORD)]
        return inspect.Signature([kind("self", kind.POSITIONAL_OR_KEYWORD), *variadic])
    parameters = list(signature.parameters.values())
    first = parameters[0].kind if parameters else kind.POSITIONAL_OR_KEYWORD
    own = kind.POSITIONAL_ONLY if first == kind.POSITIONAL_ONLY else kind.POSITIONAL_OR_KEYWORD
    name = "self" if all(each.name != "self" for each in parameters) else "_self"
    return signature.replace(parameters=[kind(name, own), *parameters])


def make_function_module(func, mark):
    """The one instance that stands for a decorated function, with the function's name and documentation.

    Copies of a model share it, and it is pickled as the name it was decorated under: every user of the function
    changes when one is kernelized. mark(cls) makes the class a host layer.
    """
    import torch.nn as nn

    cls = _create_func_module(func)
    cls.__reduce__ = lambda self: self.__qualname__  # also what the module `copy` goes by: it stays the same object
    mark(cls)
    instance = cls()
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        nn.Module.__setattr__(instance, name, getattr(func, name, None))
    instance.__dict__["__wrapped__"] = func
    return instance
