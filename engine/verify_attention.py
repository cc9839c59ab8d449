"""At load: the model must route every layer's attention through ours, and agree with transformers' `eager`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from engine import attention
from engine.errors import CheckpointError
from engine.trunk import Trunk, implementation

PROMPT = 48
"""Tokens of the comparison."""
WINDOW = 16
"""Windows are narrowed to this for the comparison, so that a short prompt is longer than any."""
TOLERANCE = {torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 6e-2}
"""Of the norm of the difference, relative."""


def require_servable(trunk: Trunk, max_ctx: int) -> None:
    """Refuse, with the reason, what the engine could not serve exactly.

    Raises:
        CheckpointError: position factors that depend on the forward, attention that does not go through the
            interface, an unknown attention keyword, or logits that disagree with `eager`.
    """
    _require_fixed_rotary(trunk, max_ctx)
    name = type(trunk.model).__name__
    tokens = probe_tokens(trunk)
    with narrow_windows(trunk):
        with implementation(trunk.model, "eager"), torch.inference_mode():
            ids = torch.tensor([tokens], device=trunk.device)
            expected = trunk.model(input_ids=ids, use_cache=False).logits[0, -1].float()
        calls, own = 0, threading.get_ident()

        def counted(*args: Any, **kwargs: Any) -> tuple[Tensor, None]:
            nonlocal calls
            calls += threading.get_ident() == own  # another engine may be answering meanwhile
            return attention.blockwise_attention(*args, **kwargs)

        attention.register(counted)
        try:
            actual = trunk.forward(trunk.new_slot(PROMPT), 0, tokens, PROMPT, keep=[PROMPT - 1]).logits[0].float()
        except TypeError as error:
            raise CheckpointError(f"{name} cannot be served exactly: {error}") from error
        finally:
            attention.register()
    if calls != len(trunk.shapes):
        raise CheckpointError(
            f"{name} does not route its attention through transformers' interface "
            f"({calls} of {len(trunk.shapes)} layers do), so it cannot be served exactly; choose another architecture."
        )
    difference = relative(actual, expected)
    if not difference <= TOLERANCE[trunk.dtype]:
        raise CheckpointError(
            f"{name} gives other logits under this engine's attention than under transformers' own "
            f"(relative difference {difference:.1e}); it cannot be served exactly."
        )


def probe_tokens(trunk: Trunk) -> list[int]:
    """The prompt of the comparison."""
    generator = torch.Generator().manual_seed(1)
    return [int(t) for t in torch.randint(0, trunk.vocab_rows, (PROMPT,), generator=generator)]


def relative(actual: Tensor, expected: Tensor) -> float:
    """Norm of the difference over the norm of what is expected; NaN where either is not finite."""
    return float((actual.float() - expected.float()).norm() / expected.float().norm().clamp_min(1e-9))


def _require_fixed_rotary(trunk: Trunk, max_ctx: int) -> None:
    kind, limit = rotary_limit(trunk.model.config)
    if limit is not None and max_ctx > limit:
        raise CheckpointError(
            f"Rotary factors of type {kind} change past {limit} positions and would make greedy text depend on "
            f"how it is split; start with --max-ctx {limit} or less."
        )


def rotary_limit(config: Any) -> tuple[str, int | None]:
    """The kind of rotary factors and the positions up to which they are fixed, None if everywhere.

    `dynamic` and `longrope` factors switch on the largest position of a forward.
    """
    config = config.get_text_config()
    parameters = getattr(config, "rope_parameters", None) or {}
    nested = [p for p in parameters.values() if isinstance(p, dict)] or [parameters]
    for rope in nested:
        kind = rope.get("rope_type", "default")
        if kind not in ("dynamic", "longrope"):
            continue
        original = rope.get("original_max_position_embeddings") or getattr(
            config, "original_max_position_embeddings", None
        )
        return kind, int(original or config.max_position_embeddings)
    return "default", None


@contextmanager
def narrow_windows(trunk: Trunk) -> Iterator[None]:
    """Sliding windows wider than the probe's prompt are narrowed inside the block: the masks are what is compared."""
    config = trunk.model.config.get_text_config()
    before = getattr(config, "sliding_window", None)
    if isinstance(before, int) and before > WINDOW:
        config.sliding_window = WINDOW
    try:
        yield
    finally:
        if isinstance(before, int):
            config.sliding_window = before
