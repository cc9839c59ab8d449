"""The Triton attention over a pool: against its reference, and the same bits whatever shares the forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kernels.attention import BLOCK, pool_reference

pytest.importorskip("triton", reason="Triton has no package for this platform")

from kernels.triton import attention as triton_attention
from kernels.triton.attention import fused, part_keys

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPES = [torch.float32, torch.float16] + [torch.bfloat16] * (DEVICE == "cuda")  # the interpreter's products are wrong
CAPACITY = 3 * BLOCK
# the interpreter is numpy, which remarks on 0 / 0 and infinities
quiet = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:All-NaN:RuntimeWarning")


@pytest.fixture
def rows_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products that treat rows alike, as a GPU's do; numpy's library sums a tile's last rows in another order."""
    if DEVICE == "cpu":
        monkeypatch.setattr(np, "matmul", lambda a, b, dtype=None: np.einsum("ik,kj->ij", a, b, dtype=dtype))


def _pool(kv_heads: int, dim: int, value_dim: int, dtype: torch.dtype, slots: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(dim)
    keys = torch.randn(slots, kv_heads, CAPACITY, dim, generator=generator)
    values = torch.randn(slots, CAPACITY // BLOCK, kv_heads, BLOCK, value_dim, generator=generator)
    return keys.to(DEVICE, dtype), values.to(DEVICE, dtype)


def _query(heads: int, rows: int, dim: int, dtype: torch.dtype) -> Tensor:
    """[H, rows, D] in the layout of a projection's output, rows outermost."""
    generator = torch.Generator().manual_seed(heads + dim)
    return torch.randn(rows, heads, dim, generator=generator).to(DEVICE, dtype).transpose(0, 1)


def _at(slot: int, start: int, last: int, dtype: torch.dtype = torch.int64) -> tuple[Tensor, ...]:
    return tuple(torch.tensor([number], device=DEVICE, dtype=dtype) for number in (slot, start, last))


def _assert_agrees(found: Tensor, expected: Tensor) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape
    tolerance = 1e-5 if found.dtype == torch.float32 else 2e-3 if found.dtype == torch.float16 else 2e-2
    torch.testing.assert_close(found.float(), expected.float(), atol=tolerance, rtol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("heads", "kv_heads", "dim", "value_dim", "width", "real", "start", "window", "softcap", "sinks"),
    [
        (2, 2, 64, 64, 1, 1, 0, None, None, False),
        (4, 2, 64, 64, 5, 5, BLOCK - 2, None, None, False),
        (9, 3, 64, 64, 8, 3, 2 * BLOCK - 3, 40, None, False),
        (5, 1, 80, 80, 3, 2, 130, None, 30.0, False),
        (12, 2, 80, 80, 4, 4, 200, 1, None, True),
        (8, 2, 128, 128, 5, 4, 300, BLOCK, None, True),
        (7, 1, 128, 128, 2, 2, 63, None, None, False),
        (8, 1, 256, 256, 2, 1, 250, 100, 50.0, False),
        (4, 1, 256, 256, 1, 1, 33, None, None, True),
        (8, 4, 96, 48, 16, 11, CAPACITY - 11, 77, 5.0, True),
        (3, 3, 16, 16, 20, 20, 5, None, None, False),
    ],
)
def test_agrees_with_the_reference(dtype, heads, kv_heads, dim, value_dim, width, real, start, window, softcap, sinks):
    keys, values = _pool(kv_heads, dim, value_dim, dtype)
    place = _at(1, start, start + real - 1, torch.int32)
    options: dict[str, Any] = {"scaling": dim**-0.5, "window": window, "softcap": softcap}
    options["sinks"] = torch.linspace(-1, 2, heads, device=DEVICE) if sinks else None
    query = _query(heads, width, dim, dtype)
    found = fused(query, keys, values, *place, **options)
    _assert_agrees(found, pool_reference(query, keys, values, *place, **options))
    assert found.transpose(0, 1).is_contiguous()  # [W, H, Dv]: the output projection reads it without a copy


def test_parts_beyond_one_group_are_added_too(monkeypatch):
    monkeypatch.setattr(triton_attention, "_GROUP", 2)
    keys, values = _pool(1, 128, 128, torch.float32)
    query, place = _query(2, 3, 128, torch.float32), _at(1, 370, 372)
    for window in (None, 200):
        found = fused(query, keys, values, *place, scaling=0.1, window=window)
        _assert_agrees(found, pool_reference(query, keys, values, *place, scaling=0.1, window=window))


def test_any_strides_of_the_query_give_the_same_bits():
    keys, values = _pool(2, 64, 64, torch.float32)
    query = _query(4, 5, 64, torch.float32)
    spread = torch.zeros(4, 5, 192, device=DEVICE)
    spread[..., 64:128] = query
    expected = fused(query, keys, values, *_at(0, 100, 104), scaling=0.125)
    assert torch.equal(fused(query.contiguous(), keys, values, *_at(0, 100, 104), scaling=0.125), expected)
    assert torch.equal(fused(spread[..., 64:128], keys, values, *_at(0, 100, 104), scaling=0.125), expected)


Forward = Callable[[int, int, int], Tensor]
"""(start, width, last real position) -> the attention of that forward [H, W, Dv]."""

WIDTHS = (1, 4, 5, 16)
STARTS = (0, 1, BLOCK - 3, BLOCK + 1)


def _assert_no_row_moves(forward: Forward) -> None:
    """Every row has the same bits in every forward it is part of."""
    seen: dict[int, Tensor] = {}
    for start in STARTS:
        for width in WIDTHS:
            for last in (start + width - 1, start + width // 2):
                out = forward(start, width, last)
                for column in range(last - start + 1):
                    row = out[:, column]
                    expected = seen.setdefault(start + column, row)
                    assert torch.equal(row, expected), (width, start, start + column)


@pytest.mark.usefixtures("rows_alike")
@pytest.mark.parametrize(
    ("dtype", "window", "sinks", "group"),
    [(torch.float32, None, False, 2), (torch.float16, 150, True, 2), (torch.float16, None, False, 32)],
    ids=["fp32", "fp16-window", "fp16"],
)
def test_a_row_has_the_same_bits_at_every_width_column_and_length(monkeypatch, dtype, window, sinks, group):
    monkeypatch.setattr(triton_attention, "_GROUP", group)  # small, so that the rows see several groups
    keys, values = _pool(1, 64, 64, dtype)
    query = _query(3, CAPACITY, 64, dtype)
    sink = torch.linspace(-1, 2, 3, device=DEVICE) if sinks else None

    def forward(start: int, width: int, last: int) -> Tensor:
        rows = query[:, start : start + width]
        return fused(rows, keys, values, *_at(1, start, last), scaling=0.125, window=window, sinks=sink)

    _assert_no_row_moves(forward)


@pytest.mark.usefixtures("rows_alike")
@pytest.mark.parametrize("by", ["width", "length"])
def test_a_split_by_width_or_by_length_would_be_noticed(monkeypatch, by):
    """The gate above has teeth: cut where split-key kernels usually cut, the same sums move bits."""
    keys, values = _pool(1, 64, 64, torch.float32)
    query = _query(3, CAPACITY, 64, torch.float32)

    def forward(start: int, width: int, last: int) -> Tensor:
        wide = width > 4 if by == "width" else last > BLOCK
        monkeypatch.setattr(triton_attention, "part_keys", lambda *sizes: 32 if wide else 64)
        return fused(query[:, start : start + width], keys, values, *_at(1, start, last), scaling=0.125)

    whole = forward(61, 3, 63)
    expected = pool_reference(query[:, 61:64], keys, values, *_at(1, 61, 63), scaling=0.125)
    _assert_agrees(whole, expected)
    with pytest.raises(AssertionError):
        _assert_no_row_moves(forward)


@pytest.mark.parametrize(("name", "value"), [("_SCRATCH", 1), ("_PROGRAMS", 4), ("_TOPS", 1)])
def test_how_the_work_is_shared_out_does_not_move_a_bit(monkeypatch, name, value):
    keys, values = _pool(2, 64, 64, torch.float32)
    query, place = _query(4, 37, 64, torch.float32), _at(1, 240, 274)
    expected = fused(query, keys, values, *place, scaling=0.125, window=150)
    monkeypatch.setattr(triton_attention, name, value)
    assert torch.equal(fused(query, keys, values, *place, scaling=0.125, window=150), expected)


@pytest.mark.usefixtures("rows_alike")
def test_padding_columns_repeat_the_last_real_row():
    keys, values = _pool(2, 64, 64, torch.float32)
    query = _query(4, 6, 64, torch.float32)
    query[:, 2:] = query[:, 2:3]
    out = fused(query, keys, values, *_at(0, 126, 128), scaling=0.125)
    assert torch.equal(out[:, 3:], out[:, 2:3].expand(-1, 3, -1))


@quiet
def test_stale_rows_are_not_read_even_if_they_are_not_finite():
    keys, values = _pool(1, 64, 64, torch.float32)
    query = _query(2, 4, 64, torch.float32)
    clean = fused(query, keys, values, *_at(1, 10, 12), scaling=0.125)
    keys[1, :, 13:], values[1, 0, :, 13:], keys[0], values[0] = float("inf"), float("nan"), float("nan"), 9.0
    assert torch.equal(fused(query, keys, values, *_at(1, 10, 12), scaling=0.125), clean)


@quiet
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_not_finite_shows_in_the_rows_that_see_it_and_in_no_other(bad):
    keys, values = _pool(2, 64, 64, torch.float32)
    query = _query(4, 5, 64, torch.float32)
    place = _at(0, 100, 104)
    spoiled = query.clone()
    spoiled[1, 2, 7] = bad
    out = fused(spoiled, keys, values, *place, scaling=0.125)
    assert out[1, 2].isnan().all() and int(out.isnan().any(-1).sum()) == 1
    keys[0, 1, 102, 3] = bad
    seen = fused(query, keys, values, *place, scaling=0.125)
    assert torch.equal(
        seen[2:, 2:].isfinite(), pool_reference(query, keys, values, *place, scaling=0.125)[2:, 2:].isfinite()
    )
    assert not seen[2:, 2:].isfinite().all() and seen[:2].isfinite().all() and seen[:, :2].isfinite().all()


@quiet
@pytest.mark.parametrize("form", [fused, pool_reference], ids=["fused", "reference"])
@pytest.mark.parametrize(
    ("slot", "start", "last", "bad"),
    [
        (2, 5, 8, {0, 1, 2, 3}),
        (-1, 5, 8, {0, 1, 2, 3}),
        (2**40, 5, 8, {0, 1, 2, 3}),
        (1, CAPACITY - 2, CAPACITY + 1, {2, 3}),
        (1, -2, 1, {0, 1}),
        (0, 2**40, 2**40 + 3, {0, 1, 2, 3}),
    ],
)
def test_rows_outside_the_pool_are_nan_and_touch_nothing(form, slot, start, last, bad):
    keys, values = _pool(1, 64, 64, torch.float32)
    query = _query(2, 4, 64, torch.float32)
    out = form(query, keys, values, *_at(slot, start, last), scaling=0.125, sinks=torch.zeros(2, device=DEVICE))
    for column in range(4):
        assert bool(out[:, column].isnan().all() if column in bad else out[:, column].isfinite().all())


def test_a_part_divides_a_block_and_fits_in_shared_memory():
    for dim in (16, 64, 80, 96, 128, 192, 256):
        for itemsize in (2, 4):
            part = part_keys(dim, dim, itemsize)
            assert BLOCK % part == 0 and part >= 16 and (part == 16 or part * dim * itemsize <= 2**14)
