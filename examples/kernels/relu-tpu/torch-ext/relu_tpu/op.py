# SPDX-License-Identifier: Apache-2.0
"""The torch op `relu_tpu::relu`."""

import torch_tpu  # noqa: F401  makes torch.tpu importable even when autoload is off

try:
    from torch.tpu.pallas import jax_op
except ImportError:  # before torch_tpu 0.2.0
    from torch_tpu._internal.pallas import jax_op

from .pallas_kernels import relu as pallas_relu

# The namespace is part of this kernel's contract: the kernel's own Python name. A kernel of which two versions
# shall live in one process takes add_op_namespace_prefix("relu") from ._ops instead (see rmsnorm-tpu).
relu = jax_op("relu_tpu::relu", pallas_relu)
