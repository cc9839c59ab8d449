"""The trunk's preallocated key/value cache: the one adapter to transformers' `Cache`.

A `CacheSlot` holds the rows of one session: written in place at `start`, truncated by length, never grown. Rows past
`length` are stale but finite (slots start zeroed and a forward that produced a non-finite row is scrubbed), because
the blockwise attention multiplies masked rows by an exact zero and 0 x NaN is NaN.

Layout per layer, chosen so that the attention reads a prefix of blocks without a copy:
    keys   [KVH, capacity, D]
    values [capacity / BLOCK, KVH, BLOCK, Dv]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from kernels.attention import BLOCK, blocks_for


@dataclass(frozen=True)
class LayerShape:
    """Key/value geometry of one attention layer, and where its rows live (layers may be spread over devices)."""

    kv_heads: int
    key_dim: int
    value_dim: int
    dtype: torch.dtype = torch.float32
    device: str | torch.device = "cpu"


class SlotLayer(CacheLayerMixin):
    """Rows of one layer in one slot. `update` writes at `start` and returns the blocks that hold rows."""

    is_sliding = False
    is_compileable = False

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        super().__init__()
        self.keys, self.values = keys, values
        self.start = 0
        self.is_initialized = True

    @classmethod
    def zeroed(cls, shape: LayerShape, capacity: int) -> SlotLayer:
        """A layer of `capacity` rows, a multiple of BLOCK, in memory of its own."""
        assert capacity % BLOCK == 0
        keys = lazy_zeros((shape.kv_heads, capacity, shape.key_dim), shape.dtype, shape.device)
        blocks = (capacity // BLOCK, shape.kv_heads, BLOCK, shape.value_dim)
        return cls(keys, lazy_zeros(blocks, shape.dtype, shape.device))

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write [1, KVH, W, D] rows at `start`; return keys [KVH, L, D] and values [L / BLOCK, KVH, BLOCK, Dv]."""
        width = key_states.shape[2]
        start, end = self.start, self.start + width
        self.keys[:, start:end] = key_states[0]
        self._write_values(value_states[0].transpose(0, 1), start)
        blocks = blocks_for(end)
        return self.keys[:, : blocks * BLOCK], self.values[:blocks]

    def _write_values(self, rows: Tensor, start: int) -> None:
        """Write `rows` [W, KVH, Dv] from position `start`, block by block."""
        done = 0
        while done < rows.shape[0]:
            block, offset = divmod(start + done, BLOCK)
            take = min(BLOCK - offset, rows.shape[0] - done)
            self.values[block, :, offset : offset + take] = rows[done : done + take].transpose(0, 1)
            done += take

    def scrub(self, start: int, end: int) -> None:
        """Zero rows `start..end`, so that nothing non-finite stays behind."""
        self.keys[:, start:end] = 0
        while start < end:
            block, offset = divmod(start, BLOCK)
            take = min(BLOCK - offset, end - start)
            self.values[block, :, offset : offset + take] = 0
            start += take

    def get_seq_length(self) -> int:
        """Rows before the ones being written: transformers counts query positions from here."""
        return self.start

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """(keys returned by `update`, offset of the first): whole blocks from position 0."""
        return blocks_for(self.start + query_length) * BLOCK, 0

    def get_max_length(self) -> int:
        """Physical capacity in rows."""
        return int(self.keys.shape[1])

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to do: the layer is allocated when the slot is."""


class CacheSlot(Cache):
    """One session's rows in every layer. `length` is the number of rows that count."""

    def __init__(self, shapes: list[LayerShape], capacity: int, layers: list[SlotLayer] | None = None) -> None:
        """At least `capacity` zeroed rows of its own, or those of `layers`, which are zeroed."""
        rows = blocks_for(capacity) * BLOCK
        self.slot_layers = [SlotLayer.zeroed(shape, rows) for shape in shapes] if layers is None else layers
        super().__init__(layers=list(self.slot_layers))
        self.capacity = rows
        self.length = 0
        self._written = 0

    def write_at(self, start: int, width: int) -> None:
        """Aim the next forward of `width` columns at rows `start..start+width`."""
        assert 0 <= start <= self.length and start + width <= self.capacity, (
            start,
            self.length,
            width,
            self.capacity,
        )
        for layer in self.slot_layers:
            layer.start = start
        self._written = max(self._written, start + width)

    def truncate(self, length: int) -> None:
        """Keep the first `length` rows. Rows above stay in memory, stale."""
        assert 0 <= length <= self.capacity
        self.length = length

    def scrub(self) -> None:
        """Zero every row ever written past `length`."""
        for layer in self.slot_layers:
            layer.scrub(self.length, self._written)
        self._written = self.length

    @property
    def nbytes(self) -> int:
        """Bytes reserved; on the CPU only the touched pages are resident."""
        return sum(x.keys.nbytes + x.values.nbytes for x in self.slot_layers)


def lazy_zeros(shape: tuple[int, ...], dtype: torch.dtype, device: str | torch.device) -> Tensor:
    """A zeroed tensor. On the CPU its pages come untouched from the system, so an idle slot costs no memory."""
    if torch.device(device).type != "cpu":
        return torch.zeros(shape, dtype=dtype, device=device)
    count = int(np.prod(shape)) * dtype.itemsize
    return torch.from_numpy(np.zeros(count, dtype=np.uint8)).view(dtype).view(shape)
