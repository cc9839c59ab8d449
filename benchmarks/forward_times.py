"""Milliseconds of one forward by width: the whole of it, its matrix products alone, and transformers' own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch
from torch import nn
from transformers import DynamicCache, PreTrainedModel

from engine.packed_linear import PackedLinear
from engine.trunk import Trunk

ROUND_WIDTH = 16
"""Widest forward that gives logits for every column; a wider one is a prefill, which needs the last only."""


def forward_ms(trunk: Trunk, width: int, context: int, count: int) -> float:
    """Median of `count` forwards of `width` columns after `context` rows of a session."""
    slot = trunk.new_slot(context + width)
    slot.truncate(context)
    head = width if width <= ROUND_WIDTH else 1
    before, trunk.head_widths = trunk.head_widths, (head,)
    tokens, keep = list(range(width)), range(width - head, width)
    try:
        return _median_ms(lambda: trunk.forward(slot, context, tokens, width, keep=keep), count)
    finally:
        trunk.head_widths = before


def products_ms(model: PreTrainedModel, width: int, count: int) -> float:
    """Median time of all linear layers of `model` once, one after the other and nothing between them."""
    head = width if width <= ROUND_WIDTH else 1
    output = model.get_output_embeddings()
    layers = [module for module in model.modules() if isinstance(module, nn.Linear | PackedLinear)]
    inputs = [_input(layer, head if layer is output else width) for layer in layers]

    def run() -> None:
        for layer, x in zip(layers, inputs, strict=True):
            layer(x)

    return _median_ms(run, count)


def stock_forward_ms(model: Any, width: int, context: int, count: int) -> float:
    """As `forward_ms`, for a model as transformers loads it, with its own attention and a cache that grows."""
    cache = DynamicCache()
    head = width if width <= ROUND_WIDTH else 1
    with torch.inference_mode():
        model(input_ids=torch.zeros(1, context, dtype=torch.long), cache=cache, use_cache=True, logits_to_keep=1)
        ids = torch.arange(width).unsqueeze(0)

        def run() -> None:
            model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=head).logits.argmax(-1).tolist()
            cache.crop(-width)

        return _median_ms(run, count)


@contextmanager
def threads_set_to(count: int) -> Iterator[None]:
    """`count` CPU threads inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _input(layer: nn.Linear | PackedLinear, rows: int) -> torch.Tensor:
    dtype = layer.dtype if isinstance(layer, PackedLinear) else layer.weight.dtype
    return torch.randn(1, rows, layer.in_features).to(dtype)


@torch.inference_mode()
def _median_ms(run: Callable[[], object], count: int) -> float:
    for _ in range(3):
        run()
    times = []
    for _ in range(count):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return median(times) * 1e3
