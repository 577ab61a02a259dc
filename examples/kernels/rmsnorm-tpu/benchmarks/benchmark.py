# SPDX-License-Identifier: Apache-2.0
import torch
from kernels.benchmark import Benchmark


class RmsnormTpuBenchmark(Benchmark):
    seed: int = 0

    def setup(self):
        self.x = torch.randn(256, 1024, device=self.device)
        self.weight = torch.randn(1024, device=self.device)
        self.out = torch.empty_like(self.x)

    def benchmark_base(self):
        self.out = self.kernel.rmsnorm(self.x, self.weight)

    def verify_base(self) -> torch.Tensor:
        return torch.nn.functional.rms_norm(self.x, (1024,), self.weight, eps=1e-6)
