"""Bring a session to where a prompt goes on: keep its rows, go back to a checkpoint, or begin afresh."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.books import rows_gone
from engine.chat.prompt import Prompt, build_prompt
from engine.chat.reuse import plan_reuse
from engine.errors import ContextFull
from engine.events import TurnEvent
from engine.rewind import reset, spec_rewind_to_checkpoint

if TYPE_CHECKING:
    from engine.chat.transcript import Transcript
    from engine.session import SpecSession

GONE = "The rows of this conversation are gone, so the whole prompt is computed."


def prompt_for(session: SpecSession, asked: Transcript, history: list[int]) -> Prompt:
    """The prompt of a conversation whose last message waits for its answer.

    Raises:
        EngineError: the template refuses the conversation.
        ContextFull: its rows do not fit; nothing changed.
    """
    engine = session.engine
    prompt = build_prompt(engine.tokenizer, asked.messages, asked.answers, history, engine.stop_ids)
    needed, most = len(prompt.ids), session.cache_max_ctx()
    if needed > most:
        raise ContextFull(
            f"With this message the conversation has {needed} tokens, and the context holds {most}; shorten the "
            "message, clear the conversation, or start with a larger --max-ctx.",
            used=len(history),
            needed=needed,
            max_ctx=most,
        )
    return prompt


def reposition(session: SpecSession, prompt: Prompt, dropped: int) -> tuple[TurnEvent, list[int], int | None]:
    """Move `session` to the longest part of `prompt` that it can keep.

    Returns the trace's event (`dropped` overshoot tokens went before), the ids left to prefill, and the header
    checkpoint to take on the way, None where there is none to take.
    """
    history = session.history
    reuse = plan_reuse(
        session.engine.tokenizer,
        prompt.ids,
        history,
        session.rewind_points(),
        trusted=session.state != "FAILED",
    )
    if reuse.decision == "rewind":
        spec_rewind_to_checkpoint(session, reuse.checkpoint)
    elif reuse.decision == "prime":
        reset(session, "prime")
    event = reuse.as_event(session.turn + 1, history=len(history), dropped=dropped)
    if not history and rows_gone(session):
        event = replace(event, decision="prime", why=GONE)
    at, lowest = prompt.checkpoint_at, len(session.history) + (session.state == "FRESH")
    usable = at is not None and bool(reuse.suffix) and at >= lowest
    return event, reuse.suffix, at if usable else None
