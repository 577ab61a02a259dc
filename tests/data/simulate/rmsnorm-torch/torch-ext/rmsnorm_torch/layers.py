# SPDX-License-Identifier: Apache-2.0
import torch


class RMSNorm(torch.nn.Module):
    can_torch_compile = True

    weight: torch.Tensor
    variance_epsilon: float

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        wide = hidden_states.float()
        norm = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.variance_epsilon)
        return (wide * norm).to(hidden_states.dtype) * self.weight
