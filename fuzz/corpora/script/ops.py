# Made by kernel-builder. Not to be edited, not to be committed.
"""Namespace of this kernel's ops: it holds name, backend and build, so that two versions can be loaded together."""
import glob
import os
import sys

import torch

_NAME = "@python_name@"
_UNIQUE_ID = "@unique_id@"


def _privateuse1_name():
    ask = getattr(torch._C, "_get_privateuse1_backend_name", None)
    return ask() if ask is not None else None


def _gpu_is_usable():
    """Whether this torch was built for a GPU whose device file exists. No device is touched."""
    if getattr(torch.version, "cuda", None) is not None:
        if any(os.path.exists(path) for path in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")):
            return True
    if getattr(torch.version, "hip", None) is not None and os.path.exists("/dev/kfd"):
        return True
    return getattr(torch.version, "xpu", None) is not None and bool(glob.glob("/dev/dri/renderD*"))


def _has_tpu():
    if hasattr(torch.backends, "tpu"):
        return True
    if _privateuse1_name() == "tpu":
        return True
    return "torch_tpu" in sys.modules and hasattr(torch, "tpu") and not _gpu_is_usable()


def _has_metal():
    mps = getattr(torch.backends, "mps", None)
    return mps is not None and mps.is_available()


def get_backend():
    """Backend that this torch computes on: cann, cpu, cuda, metal, neuron, rocm, tpu or xpu."""
    if _has_tpu():
        return "tpu"
    if hasattr(torch, "neuron"):
        return "neuron"
    if getattr(torch.version, "cuda", None) is not None:
        return "cuda"
    if getattr(torch.version, "hip", None) is not None:
        return "rocm"
    if _has_metal():
        return "metal"
    if getattr(torch.version, "xpu", None) is not None:
        return "xpu"
    if _privateuse1_name() == "npu":
        return "cann"
    return "cpu"


_OPS_NAME = "_" + _NAME + "_" + get_backend() + "_" + _UNIQUE_ID

ops = getattr(torch.ops, _OPS_NAME)


def add_op_namespace_prefix(op_name):
    """Full name of an op of this kernel, for torch.library and jax_op."""
    return _OPS_NAME + "::" + op_name
