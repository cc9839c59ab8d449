"""What a burst asks of its arguments and of the context before anything runs. Nothing changes when these raise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import ContextFull, EngineError, SessionStateError
from engine.events import ContextEvent

if TYPE_CHECKING:
    from engine.session import SpecSession


def check_arguments(
    session: SpecSession, suffix: list[int], max_new: int, overshoot: str, checkpoint_at: int | None
) -> None:
    """Raise EngineError for a value out of range, SessionStateError for a continuation of a fresh session."""
    vocab = session.engine.trunk.vocab_rows
    if isinstance(max_new, bool) or not isinstance(max_new, int) or max_new < 0:
        raise EngineError(f"max_new must be a whole number of at least 0, got {max_new!r}.")
    if overshoot not in ("keep", "trim"):
        raise EngineError(f"overshoot must be 'keep' or 'trim', got {overshoot!r}.")
    bad = next((token for token in suffix if not 0 <= token < vocab), None)
    if bad is not None:
        raise EngineError(f"Token id {bad} is not in the model's vocabulary of {vocab}.")
    if not suffix and session.state == "FRESH":
        raise SessionStateError("A fresh session has nothing to continue; give a suffix.")
    if checkpoint_at is not None:
        # a folded-in pending token is the first row of the prefill, and no logits row exists before it
        lowest = len(session.committed) + (session.pending_tok is not None)
        lowest += session.state == "FRESH"
        highest = len(session.history) + len(suffix)
        if not suffix or not lowest <= checkpoint_at <= highest:
            raise EngineError(
                f"checkpoint_at must lie between {lowest} and {highest}, inside the suffix, got {checkpoint_at}."
            )


def check_room(session: SpecSession, suffix: int) -> None:
    """Raise ContextFull unless `suffix` more tokens and a pending one fit, or one more token can be emitted."""
    pending = session.pending_tok is not None
    needed = suffix + pending if suffix else int(pending)
    if needed > session.room():
        raise context_full(session, needed)


def context_full(session: SpecSession, needed: int) -> ContextFull:
    """The error to raise, noted in the trace."""
    used, most = len(session.committed), session.engine.max_ctx
    session.trace.append(ContextEvent(action="full", used=used, max_ctx=most))
    return ContextFull(
        f"The context is full: {used} of {most} tokens are used and {needed} more are needed; shorten the message, "
        "clear the conversation, or start with a larger --max-ctx.",
        used=used,
        needed=needed,
        max_ctx=most,
    )
