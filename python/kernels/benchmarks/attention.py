# SPDX-License-Identifier: Apache-2.0
"""Attention over [batch, sequence, heads, head size], and over sequences of several lengths packed one after the other."""

import torch
from kernels.benchmarks._sizes import ThreeSizes


def _attention(query, key, value, causal=False):
    """torch's own, for tensors laid out as the kernels want them."""
    heads_first = (tensor.transpose(1, 2) for tensor in (query, key, value))
    return torch.nn.functional.scaled_dot_product_attention(*heads_first, is_causal=causal).transpose(1, 2)


def _first(result):
    """Some versions of the kernels also return the logarithms of sums."""
    return result[0] if isinstance(result, (tuple, list)) else result


class FlashAttentionBenchmark(ThreeSizes):
    sizes = {"small": (2, 128, 8, 64), "medium": (4, 512, 16, 64), "large": (8, 1024, 32, 128)}
    causal = False

    def _make(self, batch, length, heads, size):
        shape = (batch, length, heads, size)
        self.q, self.k, self.v = (torch.randn(shape, device=self.device, dtype=torch.float16) for _ in range(3))
        self.out = torch.empty_like(self.q)

    def _run(self):
        self.out = _first(self.kernel.flash_attn_func(self.q, self.k, self.v, causal=self.causal))

    def _reference(self):
        return _attention(self.q, self.k, self.v, self.causal)


class FlashAttentionCausalBenchmark(FlashAttentionBenchmark):
    causal = True


class FlashAttentionVarlenBenchmark(ThreeSizes):
    sizes = {
        "small": ([64, 128, 96], 8, 64),
        "medium": ([256, 512, 128, 384], 16, 64),
        "large": ([1024, 512, 2048, 768, 256], 32, 128),
    }

    def _make(self, lengths, heads, size):
        self.lengths = lengths
        shape = (sum(lengths), heads, size)
        self.q, self.k, self.v = (torch.randn(shape, device=self.device, dtype=torch.float16) for _ in range(3))
        self.ends = torch.tensor([0, *lengths], device=self.device).cumsum(0).to(torch.int32)
        self.out = torch.empty_like(self.q)

    def _run(self):
        longest = max(self.lengths)
        self.out = _first(
            self.kernel.flash_attn_varlen_func(
                self.q,
                self.k,
                self.v,
                cu_seqlens_q=self.ends,
                cu_seqlens_k=self.ends,
                max_seqlen_q=longest,
                max_seqlen_k=longest,
            )
        )

    def _reference(self):
        parts = [tensor.split(self.lengths) for tensor in (self.q, self.k, self.v)]
        return torch.cat([_attention(q[None], k[None], v[None])[0] for q, k, v in zip(*parts)])
