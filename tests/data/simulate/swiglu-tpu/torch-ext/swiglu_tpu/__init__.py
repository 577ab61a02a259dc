# SPDX-License-Identifier: Apache-2.0
from . import layers
from .op import scaled_sum, swiglu, swiglu_backward

__all__ = ["layers", "scaled_sum", "swiglu", "swiglu_backward"]
