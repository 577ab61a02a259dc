# SPDX-License-Identifier: Apache-2.0
"""Tensors of torch and shape texts, "f32[256,1024]"."""

import torch

_NAMES = {
    torch.bool: "pred", torch.int8: "s8", torch.int16: "s16", torch.int32: "s32", torch.int64: "s64", torch.uint8: "u8",
    torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.float32: "f32", torch.float64: "f64",
}  # fmt: skip
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}


def key_of(tensors) -> tuple:
    """Equal for tensors of equal types and shapes."""
    return tuple((tensor.dtype, tensor.shape) for tensor in tensors)


def shape_texts(tensors, op: str) -> tuple[str, ...]:
    """ValueError: an element type that programs do not have."""
    for tensor in tensors:
        if tensor.dtype not in _NAMES:
            raise ValueError(f"{op}: expected tensors of one of {', '.join(_DTYPES)}, given {tensor.dtype}")
    return tuple(f"{_NAMES[tensor.dtype]}[{','.join(str(int(size)) for size in tensor.shape)}]" for tensor in tensors)


def parse_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """("f32", (256, 1024))"""
    dtype, _, sizes = text.removesuffix("]").partition("[")
    return dtype, tuple(int(size) for size in sizes.split(",") if size)


def placeholder(text: str, device) -> torch.Tensor:
    """A tensor of this shape, for fake implementations."""
    dtype, sizes = parse_shape(text)
    return torch.empty(sizes, dtype=_DTYPES[dtype], device=device)


def dense(tensor: torch.Tensor, op: str) -> torch.Tensor:
    """The same numbers in a form that DLPack passes on without a copy. Copies what is not contiguous."""
    if tensor.device.type != "cpu":
        raise ValueError(f"{op} is simulated: expected tensors on the CPU, given one on {tensor.device}")
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    return tensor.contiguous()
