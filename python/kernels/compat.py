# SPDX-License-Identifier: Apache-2.0
"""What is installed beside this package, told without importing it."""

import sys

from kernels._machine import find_spec

__all__ = ["has_torch", "has_tvm_ffi", "tomllib"]

has_torch = find_spec("torch") is not None
has_tvm_ffi = find_spec("tvm_ffi") is not None


def __getattr__(name):
    if name != "tomllib":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib
