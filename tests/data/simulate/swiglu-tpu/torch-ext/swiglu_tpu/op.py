# SPDX-License-Identifier: Apache-2.0
import torch_tpu  # noqa: F401

try:
    from torch.tpu.pallas import jax_op
except ImportError:
    from torch_tpu._internal.pallas import jax_op

from . import pallas_kernels
from ._ops import add_op_namespace_prefix

swiglu = jax_op(add_op_namespace_prefix("swiglu"), pallas_kernels.swiglu)
swiglu_backward = jax_op(add_op_namespace_prefix("swiglu_backward"))(pallas_kernels.swiglu_backward)
scaled_sum = jax_op(add_op_namespace_prefix("scaled_sum"), pallas_kernels.scaled_sum)


def _keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _backward(ctx, gradient):
    return swiglu_backward(*ctx.saved_tensors, gradient)


swiglu.register_autograd(_backward, setup_context=_keep)
