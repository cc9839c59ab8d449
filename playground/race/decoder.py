"""What a measurement asks of an engine, in one place: a test puts another in its place and needs no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from engine import SamplingParams, generate_spec_session, generate_spec_session_sampled
from engine.chat.detokenize import Detokenizer
from engine.chat.prompt import build_prompt
from engine.events import Mode, Reason

if TYPE_CHECKING:
    from engine import Engine, SpecSession

OnTokens = Callable[[list[int]], bool]
TextOf = Callable[[int], str]
"""Takes the next token of an answer and gives the characters that it completes."""


@dataclass(frozen=True)
class Choosing:
    """How tokens are chosen."""

    sampling: SamplingParams | None = None
    """None is greedy."""
    verify: Literal["rejection", "coupled"] = "coupled"

    @property
    def mode(self) -> Mode:
        """As the trace calls it."""
        return "greedy" if self.sampling is None or self.sampling.temperature == 0 else self.verify


class Decoder(Protocol):
    """The part of the engine that races and sweeps use."""

    def prompt(self, engine: Engine, text: str) -> list[int]:
        """The ids of a conversation's first prompt. Raises `EngineError` where a template refuses."""

    def burst(
        self, session: SpecSession, suffix: Sequence[int], max_new: int, choosing: Choosing, on_tokens: OnTokens
    ) -> Reason:
        """One burst; tokens past `max_new` stay in the session. Returns why it ended. Raises `EngineError`."""

    def text(self, engine: Engine) -> TextOf:
        """The text of a new answer, token by token."""


class EngineDecoder:
    """The engine's own functions."""

    def prompt(self, engine: Engine, text: str) -> list[int]:
        """As the chat builds it, without a system message."""
        messages = [{"role": "user", "content": text}]
        return build_prompt(engine.tokenizer, messages, {}, (), engine.stop_ids).ids

    def burst(
        self, session: SpecSession, suffix: Sequence[int], max_new: int, choosing: Choosing, on_tokens: OnTokens
    ) -> Reason:
        """Greedy or sampled."""
        if choosing.sampling is None:
            return generate_spec_session(session, suffix, max_new, on_tokens=on_tokens).reason
        return generate_spec_session_sampled(
            session, suffix, max_new, choosing.sampling, verify=choosing.verify, on_tokens=on_tokens
        ).reason

    def text(self, engine: Engine) -> TextOf:
        """Whole characters; stop tokens have none."""
        stream = Detokenizer(engine.tokenizer, engine.stop_ids)
        return lambda token: stream.push([token])
