# SPDX-License-Identifier: Apache-2.0
"""Gated activations: kernel.<function>(out, x) with x of [tokens, 2 * hidden] and out of [tokens, hidden]."""

import torch
from kernels.benchmarks._sizes import ThreeSizes


class _GatedActivation(ThreeSizes):
    sizes = {"small": (128, 1024), "medium": (1024, 4096), "large": (4096, 11008)}
    function = ""  # name of the kernel's

    def activation(self, x):
        raise NotImplementedError

    def _make(self, tokens, hidden):
        self.x = torch.randn(tokens, 2 * hidden, device=self.device, dtype=torch.float16)
        self.out = torch.empty(tokens, hidden, device=self.device, dtype=torch.float16)

    def _run(self):
        getattr(self.kernel, self.function)(self.out, self.x)

    def _reference(self):
        gate, value = self.x.chunk(2, dim=-1)
        return self.activation(gate) * value


class SiluAndMulBenchmark(_GatedActivation):
    function = "silu_and_mul"

    def activation(self, x):
        return torch.nn.functional.silu(x)


class GeluAndMulBenchmark(_GatedActivation):
    function = "gelu_and_mul"

    def activation(self, x):
        return torch.nn.functional.gelu(x)
