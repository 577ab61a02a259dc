# SPDX-License-Identifier: Apache-2.0
"""RMS normalisation as a blocked Pallas kernel. Imports nothing but jax, so that it can be exported and
checked by itself."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

EPSILON = 1e-6

# Rows in VMEM at a time. Input and output are double-buffered: f32 rows of n columns take
# 4 * BLOCK_ROWS * n * 4 bytes, 2 MiB for n = 1024. A kernel has 16 MiB at least (v4).
BLOCK_ROWS = 128


def _rmsnorm_kernel(x_ref, weight_ref, y_ref):
    x = x_ref[...].astype(jnp.float32)
    mean_square = jnp.mean(x * x, axis=1, keepdims=True)
    y = x * jax.lax.rsqrt(mean_square + EPSILON) * weight_ref[...].astype(jnp.float32)
    y_ref[...] = y.astype(y_ref.dtype)


def rmsnorm(x: jax.Array, weight: jax.Array) -> jax.Array:
    """x / sqrt(mean(x^2) + EPSILON) * weight, row by row. x: [rows, n], weight: [n]."""
    rows, columns = x.shape
    block_rows = min(BLOCK_ROWS, rows)
    return pl.pallas_call(
        _rmsnorm_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[
            pl.BlockSpec((block_rows, columns), lambda i: (i, 0)),
            pl.BlockSpec((1, columns), lambda i: (0, 0)),
        ],
        out_specs=pl.BlockSpec((block_rows, columns), lambda i: (i, 0)),
        cost_estimate=pl.CostEstimate(
            flops=4 * x.size, transcendentals=rows, bytes_accessed=2 * x.nbytes + weight.nbytes
        ),
    )(x, weight.reshape(1, columns))


def rmsnorm_reference(x: jax.Array, weight: jax.Array) -> jax.Array:
    """What `rmsnorm` is compared with."""
    wide = x.astype(jnp.float32)
    mean_square = jnp.mean(jnp.square(wide), axis=-1, keepdims=True)
    return (wide / jnp.sqrt(mean_square + EPSILON) * weight.astype(jnp.float32)).astype(x.dtype)
