"""How much memory a model takes: from its parameter count, or from a folder's headers, before any weight is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.checkpoints.validate import read_config, weight_specs
from engine.engine import DEFAULT_MAX_CTX
from playground.models.room import Need

WIDTH = 16
"""Rows of a slot beyond its context: the columns of the widest round."""
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Size:
    """`row` is the numbers that one token leaves in the caches: keys and values of all layers and heads."""

    params: int
    row: int
    context: int
    """Tokens the model was trained for."""


def size_of_folder(folder: Path, *, trust_remote_code: bool = False) -> Size:
    """Read from configuration and headers. Raises `CheckpointError` for what cannot be served."""
    config = read_config(folder, trust_remote_code=trust_remote_code).get_text_config()
    heads = int(getattr(config, "num_attention_heads", 0) or 1)
    head_dim = int(getattr(config, "head_dim", None) or getattr(config, "hidden_size", 0) // heads)
    kv_heads = int(getattr(config, "num_key_value_heads", None) or heads)
    return Size(
        params=sum(spec.numel for spec in weight_specs(folder).values()),
        row=2 * int(getattr(config, "num_hidden_layers", 0)) * kv_heads * head_dim,
        context=int(getattr(config, "max_position_embeddings", None) or DEFAULT_MAX_CTX),
    )


def need_of(trunk: Size, draft: Size | None, *, item: int, max_ctx: int, slots: int) -> Need:
    """Bytes for a pair in numbers of `item` bytes; `max_ctx` is 0 for the engine's own choice."""
    most = max_ctx or min(DEFAULT_MAX_CTX, trunk.context)
    rows = (most + WIDTH) * trunk.row
    params = trunk.params
    if draft is not None:
        params += draft.params
        rows += (min(most, draft.context) + 1) * draft.row
    return Need(weights=item * params, rows=item * slots * rows)


def bytes_per_number(dtype: Any, device: str) -> int:
    """Of a setting such as `auto`: 4 on the CPU and 2 elsewhere, where published checkpoints are of 16 bits."""
    return BYTES.get(str(dtype).removeprefix("torch."), 4 if device.startswith("cpu") else 2)
