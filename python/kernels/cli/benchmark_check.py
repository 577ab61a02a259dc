# SPDX-License-Identifier: Apache-2.0
"""Does an output equal its reference? Both are tensors of torch or arrays of NumPy, or anything with DLPack."""

import sys

__all__ = ["difference"]

ABSOLUTE = 1e-2
RELATIVE = 1e-5  # of the reference


def difference(out, reference):
    """None when they agree within the tolerance (a NaN equals nothing), else what differs and by how much."""
    if out is None:
        raise TypeError("the workload did not set self.out, which is compared with what the verify function returned")
    out = _of_the_kind(out, reference)
    for fact in ("shape", "dtype"):
        ours, wanted = _fact(out, fact), _fact(reference, fact)
        if ours != wanted:
            return f"out has {fact} {ours}, the reference {wanted}"
    if _is_torch(reference):
        return _torch_difference(out, reference)
    return _numpy_difference(out, reference)


def _is_torch(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _of_the_kind(out, reference):
    """Results of kernels.native are neither torch's nor NumPy's: seen as the reference is, without a copy."""
    if _is_torch(reference):
        import torch

        return out if _is_torch(out) else torch.from_dlpack(out)
    import numpy

    if isinstance(out, numpy.ndarray) or not hasattr(out, "__dlpack__"):
        return numpy.asarray(out)
    return numpy.from_dlpack(out)


def _fact(value, name):
    if not hasattr(value, name):
        raise TypeError(f"expected a tensor or array, got {type(value).__name__}")
    fact = getattr(value, name)
    return tuple(fact) if name == "shape" else fact


def _torch_difference(out, reference):
    import torch

    if torch.allclose(out, reference, rtol=RELATIVE, atol=ABSOLUTE):
        return None
    return _greatest(float((out - reference).abs().max()))


def _numpy_difference(out, reference):
    import numpy

    if numpy.allclose(out, reference, rtol=RELATIVE, atol=ABSOLUTE):
        return None
    return _greatest(float(numpy.abs(out - reference).max()))


def _greatest(value):
    return f"greatest difference {value:g}, allowed {ABSOLUTE:g} and {RELATIVE:g} of the reference"
