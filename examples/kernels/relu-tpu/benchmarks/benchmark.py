# SPDX-License-Identifier: Apache-2.0
import torch
from kernels.benchmark import Benchmark


class ReluTpuBenchmark(Benchmark):
    seed: int = 0

    def setup(self):
        self.x = torch.randn(256, 1024, device=self.device)
        self.out = torch.empty_like(self.x)

    def benchmark_base(self):
        self.out = self.kernel.relu(self.x)

    def verify_base(self) -> torch.Tensor:
        return torch.relu(self.x)
