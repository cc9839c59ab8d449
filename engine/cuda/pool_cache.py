"""The pool as transformers' `Cache`: rows are written where device memory says, so that a graph serves every slot."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from engine.cuda.pool import PoolRows
from kernels.attention import BLOCK


class Place(NamedTuple):
    """Where a forward stands, one int64 each in device memory."""

    slot: Tensor
    start: Tensor
    """Position of its first row."""
    last: Tensor
    """Position of its last real row; padding columns repeat it."""


class PoolLayer(CacheLayerMixin):
    """One layer's rows of all slots. `update` writes at `place` and returns the pools, for `pool_attention`."""

    is_sliding = False
    is_compileable = False

    def __init__(self, keys: Tensor, values: Tensor, place: Place) -> None:
        super().__init__()
        self.keys, self.values, self.place = keys, values, place
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write [1, KVH, W, D] rows; return both pools whole. Rows must lie inside the pool."""
        assert self.keys is not None and self.values is not None
        at = self.place.start + torch.arange(key_states.shape[2], device=key_states.device)
        slot = self.place.slot.expand_as(at)
        self.keys[slot, :, at] = key_states[0].transpose(0, 1)
        self.values[slot, at // BLOCK, :, at % BLOCK] = value_states[0].transpose(0, 1)
        return self.keys, self.values

    def get_seq_length(self) -> int:
        """Not known to the host; positions come from `Place`."""
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """No mask is built: `pool_attention` knows what a row sees from its position."""
        return query_length, 0

    def get_max_length(self) -> int:
        """Rows of a slot."""
        assert self.keys is not None
        return int(self.keys.shape[2])

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to do: the pool is allocated as a whole."""


class PoolCache(Cache):
    """Every layer of `rows` at one place."""

    def __init__(self, rows: PoolRows, place: Place) -> None:
        self.place = place
        self.pool_layers = [PoolLayer(k, v, place) for k, v in zip(rows.keys, rows.values, strict=True)]
        super().__init__(layers=list(self.pool_layers))
