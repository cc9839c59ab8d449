"""Triton form of `kernels.swiglu`: element by element, both halves read once."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from kernels.swiglu import Activation

_BLOCK = 1024


def fused(gate: Tensor, up: Tensor | None = None, *, activation: Activation = "silu") -> Tensor:
    """As `kernels.swiglu.reference`; the activation differs in its last bits only."""
    gate = gate.contiguous()
    if up is None:
        size = gate.shape[-1] // 2
        assert gate.shape[-1] == 2 * size
        right, stride, shift = gate, 2 * size, size
    else:
        size = gate.shape[-1]
        assert up.shape == gate.shape
        right, stride, shift = up.contiguous(), size, 0
    out = gate.new_empty(*gate.shape[:-1], size)
    if out.numel():
        grid = (out.numel() // size, triton.cdiv(size, _BLOCK))
        _swiglu[grid](gate, right, out, size, stride, shift, gelu=activation == "gelu_tanh", block=_BLOCK)
    return out


@triton.jit
def _swiglu(
    gate: tl.tensor,
    up: tl.tensor,
    out: tl.tensor,
    size: tl.tensor,
    stride: tl.tensor,
    shift: tl.tensor,
    gelu: tl.constexpr,
    block: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * block + tl.arange(0, block)
    inside = at < size
    x = tl.load(gate + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(up + row * stride + shift + at, mask=inside, other=0.0).to(tl.float32)
    if gelu:
        # (1 + tanh(z)) / 2 is sigmoid(2 z), which loses nothing where tanh is near -1
        z = 1.5957691216057308 * (x + 0.044715 * x * x * x)
    else:
        z = x
    dtype = out.dtype.element_ty
    acted = (x / (1.0 + tl.exp(-z))).to(dtype).to(tl.float32)
    tl.store(out + row * size + at, (acted * y).to(dtype), mask=inside)
