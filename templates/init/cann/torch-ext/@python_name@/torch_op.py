"""The kernel for Ascend NPUs, in plain torch code."""
import torch

from ._ops import add_op_namespace_prefix


@torch.library.custom_op(add_op_namespace_prefix("@python_name@"), mutates_args=())
def @python_name@(x: torch.Tensor) -> torch.Tensor:
    """Adds one to every element."""
    return x + 1


@@python_name@.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)
