"""The kernel as a torch op. Importing this needs torch_tpu and jax, but no TPU."""
import torch_tpu  # noqa: F401  (makes torch.tpu importable)

try:
    from torch.tpu.pallas import jax_op
except ImportError:  # torch_tpu before 0.2.0
    from torch_tpu._internal.pallas import jax_op

from . import pallas_kernels
from ._ops import add_op_namespace_prefix

@python_name@ = jax_op(add_op_namespace_prefix("@python_name@"), pallas_kernels.@python_name@)
