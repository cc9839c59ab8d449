"""What a new prompt can keep of a session's rows, decided by comparing ids: never by tokenising again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.chat.detokenize import token_piece
from engine.events import TurnEvent

Decision = Literal["extend", "rewind", "prime"]


@dataclass(frozen=True)
class Reuse:
    """What a new prompt can keep of a session's rows."""

    decision: Decision
    common: int
    """Length of the common prefix of prompt and history."""
    suffix: list[int]
    """What is left to prefill; empty only if `reused` is a checkpoint, whose logits give the first token."""
    reused: int
    """Tokens kept; `len(suffix) + reused` is the prompt's length."""
    checkpoint: int | None = None
    """Where to rewind to, for `rewind`."""
    first_diff: int | None = None
    """First index where prompt and history differ, None when the prompt continues the history."""
    ours: str = ""
    """The session's token piece there."""
    theirs: str = ""
    """The prompt's token piece there."""
    why: str = ""
    """One sentence when this is not a plain extension."""

    def as_event(self, turn: int, *, history: int, dropped: int) -> TurnEvent:
        """The trace's event: `history` is the length compared with, after `dropped` overshoot tokens went."""
        return TurnEvent(
            turn=turn,
            decision=self.decision,
            prompt_tokens=self.reused + len(self.suffix),
            reused=self.reused,
            common=self.common,
            history=history,
            dropped=dropped,
            why=self.why,
            ours=self.ours,
            theirs=self.theirs,
        )


def plan_reuse(
    tokenizer: Any,
    prompt: Sequence[int],
    history: Sequence[int],
    points: Sequence[int] = (),
    *,
    trusted: bool = True,
) -> Reuse:
    """Choose the cheapest way from a session to `prompt`, which must not be empty.

    `history`: the session's emitted ids; `points`: its checkpoints; `trusted`: whether its caches are.
    A turn's first token comes from the logits of the prompt's last one. So unless a checkpoint, which has them, stands
    right there, at least one token is left to prefill.
    """
    common = _common(prompt, history)
    diff = None if common == len(history) < len(prompt) or common == len(history) == len(prompt) else common
    ours = token_piece(tokenizer, history[common]) if common < len(history) else ""
    theirs = token_piece(tokenizer, prompt[common]) if ours and common < len(prompt) else ""

    def reuse(decision: Decision, kept: int, why: str = "") -> Reuse:
        checkpoint = kept if decision == "rewind" else None
        return Reuse(decision, common, list(prompt[kept:]), kept, checkpoint, diff, ours, theirs, why)

    if not history:
        return reuse("extend", 0)
    if not trusted:
        return reuse("prime", 0, "A failed call left caches that cannot be trusted: all is computed again.")
    if common == len(history) and (common < len(prompt) or common in points):
        return reuse("extend", common)
    reason = _reason(common, len(prompt), ours, theirs)
    usable = [p for p in points if 0 < p <= common]
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
