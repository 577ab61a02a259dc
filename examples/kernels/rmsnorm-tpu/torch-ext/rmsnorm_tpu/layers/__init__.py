# SPDX-License-Identifier: Apache-2.0
import torch

from ..op import rmsnorm


class RMSNorm(torch.nn.Module):
    """x / sqrt(mean(x^2) + 1e-6) * weight over the last dimension; `weight` is that of the layer it replaces."""

    has_backward = False

    weight: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rmsnorm(x.reshape(-1, x.shape[-1]), self.weight).reshape(x.shape)
