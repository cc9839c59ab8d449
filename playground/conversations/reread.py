"""How much of a conversation its next message has to read again, by the ids of its next prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.chat.prompt import build_prompt
from engine.chat.reuse import plan_reuse
from engine.errors import EngineError

if TYPE_CHECKING:
    from engine import Engine
    from engine.chat import ChatSession
    from engine.chat.transcript import Transcript

PROBES = ("0", "a")
"""Two next messages without a common beginning: what their prompts share is what stands before any."""


def reread(engine: Engine, transcript: Transcript) -> int | None:
    """Tokens that a session without rows reads before the next message; None where the template does not say."""
    prompts = _prompts(engine, transcript)
    return None if prompts is None else _shared(*prompts)


def reread_by(chat: ChatSession) -> int | None:
    """Of these, the tokens that the session of `chat` does not hold, so that the next message computes them again."""
    prompts = _prompts(chat.engine, chat.transcript)
    if prompts is None:
        return None
    session = chat.session
    plan = plan_reuse(
        chat.engine.tokenizer,
        prompts[0],
        session.history,
        session.rewind_points(),
        trusted=session.state != "FAILED",
    )
    return max(0, _shared(*prompts) - plan.reused)


def _prompts(engine: Engine, transcript: Transcript) -> tuple[list[int], list[int]] | None:
    if not getattr(engine.tokenizer, "chat_template", None):
        return None
    asked = [transcript.asked(probe) for probe in PROBES]
    try:
        one, other = (
            build_prompt(engine.tokenizer, talk.messages, talk.answers, (), engine.stop_ids).ids for talk in asked
        )
    except EngineError:  # the template refuses these messages
        return None
    return one, other


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    return next((at for at, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other)))


def sentence(how: str, count: int | None) -> str:
    """`how` it came to be shown, and what that costs."""
    if count is None:
        return f"{how}: what was said is read again with your next message."
    if count == 0:
        return f"{how}: nothing has to be read again."
    is_, token = ("is", "token") if count == 1 else ("are", "tokens")
    return f"{how}: {count:,} {token} {is_} read again with your next message."
