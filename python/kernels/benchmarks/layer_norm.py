# SPDX-License-Identifier: Apache-2.0
"""Normalisation of [tokens, hidden] by the kernels' dropout_add_ln_fwd, without dropout and residual."""

import torch
from kernels.benchmarks._sizes import ThreeSizes


class LayerNormBenchmark(ThreeSizes):
    sizes = {"small": (512, 1024), "medium": (2048, 4096), "large": (8192, 8192)}
    epsilon = 1e-5
    is_rms_norm = False

    def _make(self, tokens, hidden):
        options = {"device": self.device, "dtype": torch.float16}
        self.x = torch.randn(tokens, hidden, **options)
        self.weight = torch.ones(hidden, **options)
        self.bias = None if self.is_rms_norm else torch.zeros(hidden, **options)
        self.out = torch.empty_like(self.x)

    def _run(self):
        self.out = self.kernel.dropout_add_ln_fwd(
            self.x,
            self.weight,
            self.bias,
            None,  # rowscale
            None,  # colscale
            None,  # x0_subset
            None,  # z_subset
            0.0,  # dropout_p
            self.epsilon,
            1.0,  # rowscale_const
            0,  # z_numrows
            None,  # gen
            False,  # residual_in_fp32
            self.is_rms_norm,
        )[0]

    def _reference(self):
        shape = self.weight.shape
        return torch.nn.functional.layer_norm(self.x, shape, self.weight, self.bias, self.epsilon)


class RMSNormBenchmark(LayerNormBenchmark):
    is_rms_norm = True

    def _reference(self):
        return torch.nn.functional.rms_norm(self.x, self.weight.shape, self.weight, self.epsilon)
