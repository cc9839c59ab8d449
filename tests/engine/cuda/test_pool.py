"""The pool of slots: views of one memory, lent zeroed, taken back when nobody holds them."""

from __future__ import annotations

import torch

from engine.cache import LayerShape
from engine.cuda.pool import PoolRows, RowPool
from kernels.attention import BLOCK


def _pool(count: int = 2, capacity: int = 130) -> RowPool:
    return RowPool([LayerShape(2, 8, 4), LayerShape(1, 16, 16)], count, capacity)


def test_a_slot_is_a_view_of_the_pool():
    pool = _pool()
    assert pool.capacity == 2 * BLOCK
    one, two = pool.lease(), pool.lease()
    assert {one.index, two.index} == {0, 1} and pool.lease() is None
    assert one.capacity == pool.capacity
    keys, values = torch.randn(1, 2, 7, 8), torch.randn(1, 2, 7, 4)
    one.truncate(125)
    one.write_at(125, 7)
    one.slot_layers[0].update(keys, values)
    assert torch.equal(pool.rows.keys[0][one.index, :, 125:132], keys[0])
    assert torch.equal(pool.rows.values[0][one.index, 0, :, 125:], values[0][:, :3])
    assert torch.equal(pool.rows.values[0][one.index, 1, :, :4], values[0][:, 3:])
    assert not pool.rows.keys[0][two.index].any() and not pool.rows.keys[1].any()


def test_a_slot_comes_back_when_nobody_holds_it_and_is_lent_zeroed():
    pool = _pool(count=1)
    slot = pool.lease()
    slot.slot_layers[1].keys[:] = 3.0
    slot.slot_layers[0].values[:] = 4.0
    assert pool.lease() is None
    del slot
    again = pool.lease()
    assert again is not None and again.length == 0
    assert not any(rows.any() for rows in (*pool.rows.keys, *pool.rows.values))


def test_scrub_and_clear_reach_their_own_slot_only():
    pool = _pool()
    one, two = pool.lease(), pool.lease()
    for rows in (*pool.rows.keys, *pool.rows.values):
        rows.fill_(1.0)
    one.write_at(0, 200)
    one.truncate(3)
    one.scrub()
    assert pool.rows.keys[0][one.index, :, :3].all() and not pool.rows.keys[0][one.index, :, 3:200].any()
    values = pool.rows.values[0][one.index].transpose(0, 1).reshape(2, -1, 4)
    assert values[:, :3].all() and not values[:, 3:200].any() and values[:, 200:].all()
    pool.clear(one.index)
    assert not pool.rows.values[1][one.index].any() and pool.rows.values[1][two.index].all()


def test_a_slot_of_its_own_is_a_pool_of_one():
    slot = _pool(count=3).lease()
    rows = PoolRows.of(slot)
    assert rows.keys[0].shape == (1, 2, 2 * BLOCK, 8) and rows.values[0].shape == (1, 2, 2, BLOCK, 4)
    assert rows.keys[0].data_ptr() == slot.slot_layers[0].keys.data_ptr()


def test_bytes_count_every_slot():
    assert _pool(count=3).nbytes == 3 * _pool(count=1).nbytes == 3 * 4 * 2 * BLOCK * (2 * 12 + 32)
