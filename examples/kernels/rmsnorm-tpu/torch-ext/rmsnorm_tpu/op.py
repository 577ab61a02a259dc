# SPDX-License-Identifier: Apache-2.0
"""The torch op `rmsnorm`. Its namespace is unique to this version of the kernel, so that several can be loaded."""

import torch_tpu  # noqa: F401  makes torch.tpu importable even when autoload is off

try:
    from torch.tpu.pallas import jax_op
except ImportError:  # before torch_tpu 0.2.0
    from torch_tpu._internal.pallas import jax_op

from ._ops import add_op_namespace_prefix
from .pallas_kernels import rmsnorm as pallas_rmsnorm

rmsnorm = jax_op(add_op_namespace_prefix("rmsnorm"), pallas_rmsnorm)
