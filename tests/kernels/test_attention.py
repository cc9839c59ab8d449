"""Blockwise attention: right against a dense fp64 softmax, and the same bits whatever shares the call."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from kernels.attention import BLOCK, blocks_for, reference


def _cache(rows: int, kv_heads: int, dim: int, dtype: torch.dtype, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    blocks = blocks_for(rows)
    key = torch.randn(kv_heads, blocks * BLOCK, dim, generator=generator).to(dtype)
    value = torch.randn(blocks, kv_heads, BLOCK, dim, generator=generator).to(dtype)
    return key, value


def _causal(start: int, width: int, length: int, window: int | None = None) -> Tensor:
    row = torch.arange(start, start + width)[:, None]
    key = torch.arange(length)[None]
    allowed = (key <= row) & (key > row - (window or length + 1))
    return torch.zeros(width, length).masked_fill(~allowed, float("-inf"))


def _dense(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor, scaling: float, softcap: float | None, sinks: Tensor | None
) -> Tensor:
    heads, kv_heads = query.shape[0], key.shape[0]
    k = key.double().repeat_interleave(heads // kv_heads, 0)
    v = value.transpose(0, 1).reshape(kv_heads, -1, value.shape[-1]).double().repeat_interleave(heads // kv_heads, 0)
    scores = query.double() @ k.transpose(1, 2) * scaling
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    scores = scores + bias
    if sinks is not None:
        scores = torch.cat([scores, sinks.double().view(-1, 1, 1).expand(-1, query.shape[1], 1)], -1)
    return scores.softmax(-1)[..., : k.shape[1]] @ v


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("heads", "kv_heads", "dim"), [(9, 3, 64), (4, 4, 16), (8, 1, 96)])
@pytest.mark.parametrize("start", [0, 5, BLOCK - 3, 3 * BLOCK + 17])
@pytest.mark.parametrize(
    ("softcap", "sinks", "window"),
    [(None, False, None), (30.0, False, 40), (None, True, None)],
    ids=["plain", "cap", "sink"],
)
def test_agrees_with_a_dense_softmax(dtype, heads, kv_heads, dim, start, softcap, sinks, window):
    key, value = _cache(start + 8, kv_heads, dim, dtype)
    query = torch.randn(heads, 8, dim, generator=torch.Generator().manual_seed(1)).to(dtype)
    bias = _causal(start, 8, key.shape[1], window)
    sink = torch.linspace(-1, 2, heads) if sinks else None
    out = reference(query, key, value, bias, scaling=dim**-0.5, softcap=softcap, sinks=sink)
    expected = _dense(query, key, value, bias, dim**-0.5, softcap, sink)
    assert out.dtype == dtype and out.shape == (heads, 8, dim)
    torch.testing.assert_close(out.double(), expected, atol=2e-5 if dtype == torch.float32 else 2e-2, rtol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("window", [None, 50])
def test_a_row_has_the_same_bits_at_every_width_column_and_length(dtype, window):
    rows, heads, dim = 5 * BLOCK, 9, 64
    key, value = _cache(rows, 3, dim, dtype)
    query = torch.randn(heads, rows, dim, generator=torch.Generator().manual_seed(2)).to(dtype)

    def at(start: int, width: int, length: int) -> Tensor:
        bias = _causal(start, width, length, window)
        blocks = length // BLOCK
        return reference(query[:, start : start + width], key[:, :length], value[:blocks], bias, scaling=0.125)

    expected = at(0, rows, rows)
    for width in (4, 8, 12, 64):
        for start in (0, 3, BLOCK - 2, 2 * BLOCK + 1, rows - width):
            for blocks in range(blocks_for(start + width), rows // BLOCK + 1):
                got = at(start, width, blocks * BLOCK)
                assert torch.equal(got, expected[:, start : start + width]), (width, start, blocks)


def test_stale_rows_past_the_mask_do_not_matter_unless_they_are_not_finite():
    key, value = _cache(BLOCK, 1, 16, torch.float32)
    query = torch.randn(1, 4, 16)
    bias = _causal(10, 4, BLOCK)
    clean = reference(query, key, value, bias, scaling=0.25)
    key[:, 20:], value[:, :, 20:] = 1e4, -1e4
    assert torch.equal(reference(query, key, value, bias, scaling=0.25), clean)
    value[:, :, 20:] = float("nan")  # why a slot is scrubbed after a forward that was not finite
    assert reference(query, key, value, bias, scaling=0.25).isnan().any()
