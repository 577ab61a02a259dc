# SPDX-License-Identifier: Apache-2.0
"""As much of torch as benchmark scripts of the tests need, on NumPy: for machines without torch."""
import sys
import types

import numpy

__version__ = "0.0.stand-in"
version = types.SimpleNamespace(cuda=None, hip=None, xpu=None)
float32, float16 = numpy.dtype("f4"), numpy.dtype("f2")


class Tensor(numpy.ndarray):
    """An array whose class tells torch's tensors from NumPy's."""

    def abs(self):
        return numpy.abs(self)

    def __int__(self):
        return int(self.item())


def tensor(data, dtype=float32):
    return numpy.array(data, dtype).view(Tensor)


def zeros(*shape, dtype=float32):
    return numpy.zeros(shape, dtype).view(Tensor)


def ones(*shape, dtype=float32):
    return numpy.ones(shape, dtype).view(Tensor)


def full(shape, value, dtype=float32):
    return numpy.full(shape, value, dtype).view(Tensor)


def from_dlpack(other):
    return numpy.from_dlpack(other).view(Tensor)


def allclose(one, other, rtol=1e-5, atol=1e-8):
    return bool(numpy.allclose(one, other, rtol=rtol, atol=atol))


def relu(x):
    return numpy.maximum(x, 0)


def randint(low, high, shape):
    return numpy.random.randint(low, high, shape).view(Tensor)


def randn(shape, device="cpu"):
    return numpy.random.standard_normal(shape).astype("f4").view(Tensor)


def manual_seed(seed):
    numpy.random.seed(seed)


class _Device:
    """A device module that notes what is done to it."""

    def __init__(self):
        self.calls = []

    def synchronize(self):
        self.calls.append("synchronize")

    def manual_seed_all(self, seed):
        self.calls.append(("seed", seed))

    def is_available(self):
        return True

    def get_device_name(self, index):
        return f"stand-in {index}"


def __getattr__(name):
    """torch.tpu, torch.cuda, ...: there once a test asks for it by making it."""
    raise AttributeError(f"module 'torch' (stand-in of the tests) has no attribute {name!r}")


def add_device(name):
    device = _Device()
    setattr(sys.modules[__name__], name, device)
    return device
