"""What a new prompt can keep of a session's rows, decided by comparing ids: never by tokenising again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.detokenize import token_piece

Decision = Literal["extend", "rewind", "prime"]


@dataclass(frozen=True)
class Reuse:
    """What a new prompt can keep of a session's rows."""

    decision: Decision
    common: int
    """Length of the common prefix of prompt and history."""
    suffix: list[int]
    """What is left to prefill, never empty."""
    reused: int
    """Tokens kept; `len(suffix) + reused` is the prompt's length."""
    checkpoint: int | None = None
    """Where to rewind to, for `rewind`."""
    drop: int = 0
    """Emitted tokens to forget first: 1 when only the uncommitted stop id does not match."""
    first_diff: int | None = None
    """First index where prompt and history differ, None when the prompt continues the history."""
    ours: str = ""
    """The session's token piece there."""
    theirs: str = ""
    """The prompt's token piece there."""
    why: str = ""
    """One sentence when this is not a plain extension."""


def plan_reuse(
    tokenizer: Any,
    prompt: Sequence[int],
    history: Sequence[int],
    rows: int,
    points: Sequence[int] = (),
    stop_ids: Iterable[int] = (),
    *,
    trusted: bool = True,
) -> Reuse:
    """Choose the cheapest way from a session to `prompt`, which must not be empty.

    `history`: emitted ids, of which the first `rows` are in the caches; `points`: the session's checkpoints.
    At least one token is always left to prefill: a turn's first token comes from the last one's logits.
    """
    common = _common(prompt, history)
    diff = None if common == len(history) < len(prompt) or common == len(history) == len(prompt) else common
    ours = token_piece(tokenizer, history[common]) if common < len(history) else ""
    theirs = token_piece(tokenizer, prompt[common]) if ours and common < len(prompt) else ""

    def reuse(decision: Decision, kept: int, why: str = "", drop: int = 0) -> Reuse:
        checkpoint = kept if decision == "rewind" else None
        return Reuse(decision, common, list(prompt[kept:]), kept, checkpoint, drop, diff, ours, theirs, why)

    if not history:
        return reuse("extend", 0)
    if not trusted:
        return reuse("prime", 0, "A failed call left caches that cannot be trusted: all is computed again.")
    if common == len(history) < len(prompt):
        return reuse("extend", common)
    if common == rows == len(history) - 1 < len(prompt) and history[-1] in frozenset(stop_ids):
        why = (
            f"The answer's end {ours!r}, which has no row yet, is dropped: the template has {theirs!r} there."
        )
        return reuse("extend", rows, why, drop=1)
    reason = _reason(common, len(prompt), ours, theirs)
    usable = [p for p in points if 0 < p <= common and p < len(prompt)]
    if usable:
        return reuse("rewind", max(usable), f"{reason} The rows above checkpoint {max(usable)} are dropped.")
    return reuse("prime", 0, f"{reason} No checkpoint lies below that, so the whole prompt is computed.")


def _reason(common: int, prompt: int, ours: str, theirs: str) -> str:
    if common == prompt:
        return f"The new prompt ends at token {common}, within what the session holds."
    return f"The new prompt has {theirs!r} at token {common}, where the session holds {ours!r}."


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    """Length of the common prefix."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
