# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of common kernels, ready to be subclassed in a kernel's benchmarks/benchmark.py. Needs torch.

    from kernels.benchmarks import SiluAndMulBenchmark

    class Silu(SiluAndMulBenchmark):
        seed = 42

Each has the workloads small, medium and large, and checks them against torch.
"""

from kernels.benchmarks.activation import SiluAndMulBenchmark
from kernels.benchmarks.attention import (
    FlashAttentionBenchmark,
    FlashAttentionCausalBenchmark,
    FlashAttentionVarlenBenchmark,
)
from kernels.benchmarks.layer_norm import LayerNormBenchmark, RMSNormBenchmark

__all__ = [
    "FlashAttentionBenchmark",
    "FlashAttentionCausalBenchmark",
    "FlashAttentionVarlenBenchmark",
    "LayerNormBenchmark",
    "RMSNormBenchmark",
    "SiluAndMulBenchmark",
]
