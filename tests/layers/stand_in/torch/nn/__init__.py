# SPDX-License-Identifier: Apache-2.0
"""Module with its sub-modules, parameters, hooks and copies; a few layers."""
from torch import Tensor


def _forward_unimplemented(self, *input):
    raise NotImplementedError


class Module:
    def __init__(self, *args, **kwargs):
        self.__dict__.update(training=True, _parameters={}, _modules={}, _forward_hooks=[])

    forward = _forward_unimplemented

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._modules[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        for found in ("_parameters", "_modules"):
            if name in self.__dict__.get(found, ()):
                return self.__dict__[found][name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __call__(self, *args, **kwargs):
        result = self.forward(*args, **kwargs)
        for hook in self._forward_hooks:
            hook(self, args, result)
        return result

    def register_forward_hook(self, hook):
        self._forward_hooks.append(hook)

    def named_modules(self, memo=None, prefix=""):
        memo = set() if memo is None else memo
        if self not in memo:
            memo.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                if module is None:
                    continue
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name)

    def parameters(self):
        for _, module in self.named_modules():
            yield from module._parameters.values()

    def to(self, device):
        for _, module in self.named_modules():
            module._parameters = {name: value.to(device) for name, value in module._parameters.items()}
        return self

    def train(self, mode=True):
        for _, module in self.named_modules():
            module.__dict__["training"] = mode
        return self

    def eval(self):
        return self.train(False)

    def extra_repr(self):
        return ""

    def _replicate_for_data_parallel(self):
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        return replica


class Parameter(Tensor):
    pass


class ReLU(Module):
    def __init__(self, inplace=False):
        super().__init__()

    def forward(self, input):
        return max(input, 0)


class Identity(Module):
    def forward(self, input):
        return input


class Linear(Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = Parameter(outputs, inputs)


class Sequential(Module):
    def __init__(self, *modules):
        super().__init__()
        for number, module in enumerate(modules):
            self._modules[str(number)] = module

    def __getitem__(self, index):
        return self._modules[str(index)]

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input
