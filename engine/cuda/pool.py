"""All slots of an engine in one tensor per layer, so that a graph finds any of them by an index in device memory.

    keys   [S, KVH, capacity, D]
    values [S, capacity / BLOCK, KVH, BLOCK, Dv]

A slot is an ordinary `CacheSlot` whose rows are a view of the pool. Unlike the CPU's, this memory is taken at once.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.cache import CacheSlot, LayerShape, SlotLayer
from kernels.attention import BLOCK, blocks_for


@dataclass(frozen=True)
class PoolRows:
    """The rows of S slots in every layer, as the kernels take them."""

    keys: tuple[Tensor, ...]
    """Per layer [S, KVH, capacity, D], contiguous."""
    values: tuple[Tensor, ...]
    """Per layer [S, capacity / BLOCK, KVH, BLOCK, Dv], contiguous."""

    @classmethod
    def of(cls, slot: CacheSlot) -> PoolRows:
        """A slot with memory of its own, as a pool of one."""
        layers = slot.slot_layers
        return cls(tuple(x.keys.unsqueeze(0) for x in layers), tuple(x.values.unsqueeze(0) for x in layers))


class PooledSlot(CacheSlot):
    """Slot `index` of a pool."""

    def __init__(self, pool: RowPool, index: int) -> None:
        layers = [
            SlotLayer(keys[index], values[index]) for keys, values in zip(pool.rows.keys, pool.rows.values, strict=True)
        ]
        super().__init__([], pool.capacity, layers)
        self.pool = pool
        self.index = index


class RowPool:
    """S slots of one capacity; lends them, and takes each back when nobody holds it any more."""

    def __init__(self, shapes: list[LayerShape], count: int, capacity: int) -> None:
        """`capacity` in rows, rounded up to whole blocks. All layers must lie on one device."""
        blocks = blocks_for(capacity)
        self.capacity = blocks * BLOCK
        keys, values = [], []
        for shape in shapes:
            of, at = shape.dtype, shape.device
            keys.append(torch.zeros(count, shape.kv_heads, self.capacity, shape.key_dim, dtype=of, device=at))
            values.append(torch.zeros(count, blocks, shape.kv_heads, BLOCK, shape.value_dim, dtype=of, device=at))
        self.rows = PoolRows(tuple(keys), tuple(values))
        self._free = list(reversed(range(count)))

    def lease(self) -> PooledSlot | None:
        """An empty, zeroed slot, or None when all are lent."""
        if not self._free:
            return None
        index = self._free.pop()
        self.clear(index)
        slot = PooledSlot(self, index)
        weakref.finalize(slot, self._free.append, index).atexit = False
        return slot

    def clear(self, index: int) -> None:
        """Zero every row of a slot."""
        for rows in (*self.rows.keys, *self.rows.values):
            rows[index].zero_()

    @property
    def nbytes(self) -> int:
        """Bytes of all slots."""
        return sum(x.nbytes for x in (*self.rows.keys, *self.rows.values))
