# SPDX-License-Identifier: Apache-2.0
"""ReLU against torch, or against NumPy where there is no torch: `kernels benchmark` runs both."""

from kernels.benchmark import Benchmark

try:
    import torch
except ImportError:
    torch = None
    import numpy

SHAPE = (256, 1024)


class ReluTpuBenchmark(Benchmark):
    seed = 0

    def setup(self):
        if torch is not None:
            self.x = torch.randn(SHAPE, device=self.device)
        else:
            self.x = numpy.random.standard_normal(SHAPE).astype(numpy.float32)

    def benchmark_base(self):
        self.out = self.kernel.relu(self.x)

    def verify_base(self):
        return torch.relu(self.x) if torch is not None else numpy.maximum(self.x, 0)
