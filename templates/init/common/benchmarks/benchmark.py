"""`kernels benchmark` runs this: time of the kernel, checked against plain torch."""
import torch
from kernels.benchmark import Benchmark


class @class_name@Benchmark(Benchmark):
    seed = 42

    def setup(self):
        self.x = torch.randn(1024, 1024).to(self.device)
        self.out = torch.empty_like(self.x)

    def benchmark_base(self):
        self.out = self.kernel.@python_name@(self.x)

    def verify_base(self) -> torch.Tensor:
        return self.x + 1
