"""Rotary with the cache write: transformers' rotation, the rows where `SlotLayer` puts them, nothing outside."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from engine.cache import LayerShape, SlotLayer
from kernels.attention import BLOCK
from kernels.rotary import reference
from tests.kernels.forms import FORMS

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPES = [torch.float32, torch.float16, torch.bfloat16]  # the kernel widens bfloat16 as it loads it
TOLERANCE = {torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}
CAPACITY = 2 * BLOCK


def _form(name: str):
    if name == "reference":
        return reference
    pytest.importorskip("triton", reason="Triton has no package for this platform")
    from kernels.triton.rotary import fused

    return fused


def _rows(heads: int, width: int, dim: int, dtype: torch.dtype, seed: int) -> Tensor:
    """[heads, width, dim] in the layout of a projection's output, rows outermost."""
    rows = torch.randn(width, heads, dim, generator=torch.Generator().manual_seed(seed))
    return rows.to(DEVICE, dtype).transpose(0, 1)


def _turns(start: int, width: int, turned: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    angle = torch.arange(start, start + width)[:, None] / 10000 ** (torch.arange(0, turned, 2) / turned)
    both = torch.cat([angle, angle], -1)
    return both.cos().to(DEVICE, dtype), both.sin().to(DEVICE, dtype)


def _pool(kv_heads: int, dim: int, value_dim: int, dtype: torch.dtype, fill: float = 7.0) -> tuple[Tensor, Tensor]:
    return (
        torch.full((3, kv_heads, CAPACITY, dim), fill, dtype=dtype, device=DEVICE),
        torch.full((3, CAPACITY // BLOCK, kv_heads, BLOCK, value_dim), fill, dtype=dtype, device=DEVICE),
    )


def _at(number: int, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.tensor([number], dtype=dtype, device=DEVICE)


def test_the_reference_is_transformers_rotation_and_the_cache_s_write():
    query, key, value = (_rows(h, 6, 64, torch.float32, i) for i, h in enumerate((6, 2, 2)))
    cos, sin = _turns(125, 6, 64, torch.float32)
    turned = [x[0] for x in apply_rotary_pos_emb(query[None], key[None], cos[None], sin[None])]
    layer = SlotLayer.zeroed(LayerShape(2, 64, 64, device=DEVICE), CAPACITY)
    layer.start = 125
    layer.update(turned[1][None], value[None])

    keys, values = _pool(2, 64, 64, torch.float32, fill=0.0)
    out = reference(query, key, value, cos, sin, keys, values, _at(1), _at(125))
    assert torch.equal(out, turned[0])
    assert torch.equal(keys[1], layer.keys) and torch.equal(values[1], layer.values)
    assert not keys[::2].any() and not values[::2].any()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("heads", "kv_heads", "dim", "value_dim", "turned", "width", "start"),
    [
        (1, 1, 16, 16, 16, 1, 0),
        (6, 2, 64, 64, 64, 5, BLOCK - 2),
        (3, 1, 80, 80, 32, 3, 10),
        (4, 4, 96, 128, 96, 4, 200),
        (8, 1, 256, 48, 64, 7, CAPACITY - 7),
    ],
)
def test_the_fused_form_agrees(dtype, heads, kv_heads, dim, value_dim, turned, width, start):
    query = _rows(heads, width, dim, dtype, 1)
    key, value = _rows(kv_heads, width, dim, dtype, 2), _rows(kv_heads, width, value_dim, dtype, 3)
    cos, sin = _turns(start, width, turned, dtype)
    written = {}
    for form in FORMS:
        keys, values = _pool(kv_heads, dim, value_dim, dtype)
        out = _form(form)(query, key, value, cos, sin, keys, values, _at(2, torch.int32), _at(start, torch.int32))
        written[form] = (out, keys, values)
    for found, expected in zip(written["fused"], written["reference"], strict=True):
        assert found.dtype == dtype
        torch.testing.assert_close(found, expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
    assert torch.equal(written["fused"][2], written["reference"][2])  # values are moved, not computed
    unturned = slice(turned, None)
    assert torch.equal(written["fused"][0][..., unturned], query[..., unturned])


@pytest.mark.parametrize("form", FORMS)
def test_a_row_has_the_same_bits_at_every_width_and_column_whatever_the_strides(form):
    query, key, value = (_rows(h, 9, 64, torch.float16, i) for i, h in enumerate((4, 2, 2)))
    cos, sin = _turns(120, 9, 64, torch.float32)
    whole, values_whole = _pool(2, 64, 64, torch.float16)
    out = _form(form)(query, key, value, cos, sin, whole, values_whole, _at(0), _at(120))
    for rows in (slice(0, 1), slice(2, 9), slice(7, 8)):
        keys, values = _pool(2, 64, 64, torch.float16)
        parts = [x[:, rows].contiguous() for x in (query, key, value)]
        some = _form(form)(*parts, cos[rows], sin[rows], keys, values, _at(0), _at(120 + rows.start))
        assert torch.equal(some, out[:, rows])
        at = slice(120 + rows.start, 120 + rows.stop)
        assert torch.equal(keys[0, :, at], whole[0, :, at])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("slot", "start", "kept"), [(3, 4, []), (-1, 4, []), (2**40, 4, []), (1, CAPACITY - 2, [0, 1]), (1, -3, [3])]
)
def test_rows_outside_the_pool_are_not_written(form, slot, start, kept):
    query, key, value = (_rows(h, 4, 16, torch.float32, i) for i, h in enumerate((2, 1, 1)))
    cos, sin = _turns(0, 4, 16, torch.float32)
    keys, values = _pool(1, 16, 16, torch.float32)
    _form(form)(query, key, value, cos, sin, keys, values, _at(slot), _at(start))
    changed = (keys != 7.0).any(-1).nonzero().tolist()
    assert changed == [[1, 0, start + row] for row in kept]
    blocks = [divmod(start + row, BLOCK) for row in kept]
    assert (values != 7.0).any(-1).nonzero().tolist() == [[1, block, 0, offset] for block, offset in blocks]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_value_that_is_not_finite_stays_in_its_row_and_head(form, bad):
    query, key, value = (_rows(h, 4, 16, torch.float32, i) for i, h in enumerate((2, 2, 2)))
    cos, sin = _turns(5, 4, 16, torch.float32)
    query[1, 2, 3], key[0, 1, 15], value[1, 3, 0] = bad, bad, bad
    keys, values = _pool(2, 16, 16, torch.float32)
    out = _form(form)(query, key, value, cos, sin, keys, values, _at(0), _at(5))
    assert (~out.isfinite()).any(-1).nonzero().tolist() == [[1, 2]]
    assert (~keys.isfinite()).any(-1).nonzero().tolist() == [[0, 0, 6]]
    assert (~values.isfinite()).any(-1).nonzero().tolist() == [[0, 0, 1, 8]]


def test_a_rotation_of_neighbours_would_be_noticed():
    """The comparison has teeth: interleaved pairs, the other common order, are far from halves."""
    query, key = _rows(2, 3, 16, torch.float32, 0), _rows(1, 3, 16, torch.float32, 1)
    cos, sin = _turns(9, 3, 16, torch.float32)
    out = _form("fused")(query, key, key, cos, sin, *_pool(1, 16, 16, torch.float32), _at(0), _at(9))
    pairs = query.reshape(2, 3, 8, 2).transpose(-1, -2).reshape(2, 3, 16)
    wrong = reference(pairs, key, key, cos, sin, *_pool(1, 16, 16, torch.float32), _at(0), _at(9))
    with pytest.raises(AssertionError):
        torch.testing.assert_close(out, wrong)
