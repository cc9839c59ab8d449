"""A loaded checkpoint: what the engine runs, and all it needs to know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Checkpoint:
    """A causal language model in evaluation mode, its tokenizer, and what ends a turn."""

    id: str
    """For traces and pages: a Hub id, a folder's name or a file's name; never a path."""
    source: str
    """Where it came from, in a few words."""
    model: Any
    """`PreTrainedModel` in evaluation mode, gradients off, with the attention implementation asked for."""
    tokenizer: Any
    """`PreTrainedTokenizerFast`."""
    stop_ids: frozenset[int]
    """Every token id that ends a turn."""
    chat_template: str | None
    """Jinja source, or None: then only sessions over token ids work, not chats."""
    config: Any
    """`PretrainedConfig` of the model."""
    params: int
    """Number of distinct parameters (tied ones count once)."""
    bytes: int
    """Memory those parameters take."""
