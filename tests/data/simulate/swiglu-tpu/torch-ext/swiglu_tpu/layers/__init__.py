# SPDX-License-Identifier: Apache-2.0
import torch

from ..op import swiglu


class SwiGLU(torch.nn.Module):
    can_torch_compile = True

    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return swiglu(gate, up)
