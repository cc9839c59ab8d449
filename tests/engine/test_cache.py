"""Cache slots: rows land where they should, across block edges; lengths and scrubbing."""

from __future__ import annotations

import pytest
import torch

from engine.cache import CacheSlot, LayerShape
from kernels.attention import BLOCK


def _slot(capacity: int = 3 * BLOCK) -> CacheSlot:
    return CacheSlot([LayerShape(2, 8, 4)], capacity)


@pytest.mark.parametrize(("start", "width"), [(0, 8), (BLOCK - 3, 8), (BLOCK, 1), (5, 2 * BLOCK + 9)])
def test_rows_are_written_in_place_and_read_back_in_order(start, width):
    slot = _slot()
    slot.truncate(start)
    slot.write_at(start, width)
    keys, values = torch.randn(1, 2, width, 8), torch.randn(1, 2, width, 4)
    k, v = slot.update(keys, values, 0)
    blocks = -(-(start + width) // BLOCK)
    assert k.shape == (2, blocks * BLOCK, 8) and v.shape == (blocks, 2, BLOCK, 4)
    assert torch.equal(k[:, start : start + width], keys[0])
    flat = v.transpose(0, 1).reshape(2, -1, 4)
    assert torch.equal(flat[:, start : start + width], values[0])
    assert not k[:, :start].any() and not flat[:, :start].any() and not flat[:, start + width :].any()
    assert k.data_ptr() == slot.slot_layers[0].keys.data_ptr(), "read without a copy"
    assert v.data_ptr() == slot.slot_layers[0].values.data_ptr(), "read without a copy"


def test_scrub_zeroes_what_lies_past_the_length_and_nothing_else():
    slot = _slot()
    slot.write_at(0, BLOCK + 8)
    ones = torch.ones(1, 2, BLOCK + 8, 8)
    slot.update(ones, ones[..., :4], 0)
    slot.truncate(BLOCK + 2)
    slot.scrub()
    layer = slot.slot_layers[0]
    assert layer.keys[:, : BLOCK + 2].eq(1).all() and not layer.keys[:, BLOCK + 2 :].any()
    assert layer.values[0].eq(1).all() and layer.values[1, :, :2].eq(1).all() and not layer.values[1, :, 2:].any()


def test_mask_sizes_are_whole_blocks_from_zero():
    slot = _slot()
    slot.truncate(BLOCK - 2)
    slot.write_at(BLOCK - 2, 4)
    assert slot.get_mask_sizes(4, 0) == (2 * BLOCK, 0)
    assert slot.get_seq_length() == BLOCK - 2


def test_writing_past_the_length_or_the_capacity_is_a_bug():
    slot = _slot()
    with pytest.raises(AssertionError):
        slot.write_at(1, 4)
    slot.truncate(3 * BLOCK)
    with pytest.raises(AssertionError):
        slot.write_at(3 * BLOCK - 3, 4)


def test_an_idle_slot_costs_no_memory():
    """Pages come from the system untouched; bf16 has no numpy twin, so it goes through bytes."""
    import psutil

    before = psutil.Process().memory_info().rss
    slot = CacheSlot([LayerShape(8, 128, 128, torch.bfloat16)] * 4, 16384)
    assert slot.nbytes == 4 * 2 * 8 * 16384 * 128 * 2  # 268 MB
    assert psutil.Process().memory_info().rss - before < 20e6
    assert not slot.slot_layers[3].keys[7, 16000].any()
