# SPDX-License-Identifier: Apache-2.0
"""silu(gate) * up, and its derivative."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax.experimental.pallas import pallas_call

BIG = -0.7 * float(jnp.finfo(jnp.float32).max)  # what a module may compute when it is imported


def _swiglu_kernel(gate_ref, up_ref, y_ref):
    gate = gate_ref[...].astype(jnp.float32)
    y_ref[...] = (gate * jax.nn.sigmoid(gate) * up_ref[...]).astype(y_ref.dtype)


@jax.jit
def swiglu(gate: jax.Array, up: jax.Array) -> jax.Array:
    return pallas_call(_swiglu_kernel, out_shape=jax.ShapeDtypeStruct(gate.shape, gate.dtype))(gate, up)


def _backward_kernel(gate_ref, up_ref, gradient_ref, dgate_ref, dup_ref):
    gate, gradient = gate_ref[...], gradient_ref[...]
    sigmoid = jax.nn.sigmoid(gate)
    dgate_ref[...] = gradient * up_ref[...] * sigmoid * (1 + gate * (1 - sigmoid))
    dup_ref[...] = gradient * gate * sigmoid


def swiglu_backward(gate: jax.Array, up: jax.Array, gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    shape = jax.ShapeDtypeStruct(gate.shape, gate.dtype)
    return pallas_call(_backward_kernel, out_shape=(shape, shape))(gate, up, gradient)


@functools.partial(jax.jit, static_argnames=("factor", "add"))
def scaled_sum(
    parts: list[jax.Array], bias: jax.Array | None = None, factor: float = 1.0, *, add: int = 0
) -> list[jax.Array]:
    """Not exported. [sum(parts) * factor + add (+ bias), number of parts]"""
    total = sum(parts) * factor + add
    return [total if bias is None else total + bias, jnp.int32(len(parts))]
