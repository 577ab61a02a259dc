# SPDX-License-Identifier: Apache-2.0
"""Gated activations: kernel.<function>(out, x) with x of [tokens, 2 * hidden] and out of [tokens, hidden]."""

import torch
from kernels.benchmark import Benchmark


class _GatedActivation(Benchmark):
    seed = 42
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

    def setup_small(self):
        self._make(128, 1024)

    def setup_medium(self):
        self._make(1024, 4096)

    def setup_large(self):
        self._make(4096, 11008)

    def benchmark_small(self):
        self._run()

    def benchmark_medium(self):
        self._run()

    def benchmark_large(self):
        self._run()

    def verify_small(self):
        return self._reference()

    def verify_medium(self):
        return self._reference()

    def verify_large(self):
        return self._reference()


class SiluAndMulBenchmark(_GatedActivation):
    function = "silu_and_mul"

    def activation(self, x):
        return torch.nn.functional.silu(x)


class GeluAndMulBenchmark(_GatedActivation):
    function = "gelu_and_mul"

    def activation(self, x):
        return torch.nn.functional.gelu(x)
