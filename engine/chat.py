"""`ChatSession`: a conversation over one speculative session, by messages instead of ids."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.burst import Overshoot
from engine.detokenize import Detokenizer
from engine.errors import ContextFull, EngineError, SessionStateError
from engine.events import Origin, Reason, TurnEvent
from engine.prompt import Answer, Prompt, build_prompt
from engine.reuse import plan_reuse
from engine.rewind import drop_overshoot, reset, spec_rewind_to_checkpoint
from engine.turn import OnDelta, Turn, TurnDelta, TurnRun

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.session import SpecSession

__all__ = ["ChatSession", "Turn", "TurnDelta"]


class ChatSession:
    """Turns of a conversation: renders the checkpoint's template, reuses the caches, streams whole characters.

    The greedy text depends neither on the drafter, nor on K, nor on the burst size; and no prompt depends on
    overshoot, which a new message drops and a continuation shows first.
    """

    def __init__(self, engine: Engine, system: str | None = None) -> None:
        """`system` becomes the first message. Some templates refuse one, which the first `send` then says."""
        self.engine = engine
        self.session: SpecSession = engine.new_session()
        self._messages: list[dict[str, str]] = [{"role": "system", "content": system}] if system else []
        self._answers: dict[int, Answer] = {}
        self._turn: Turn | None = None
        self._open = False
        self._end = 0
        self._hidden_origin: list[Origin] = []
        self._decoder = self._new_decoder()
        self._busy = threading.Lock()

    @property
    def messages(self) -> list[dict[str, str]]:
        """The conversation as `{"role", "content"}`, system message included: a copy. Changes as a turn ends."""
        return [dict(message) for message in self._messages]

    @property
    def turn(self) -> Turn | None:
        """The last turn that showed something, or None."""
        return self._turn

    @property
    def can_continue(self) -> bool:
        """Whether `continue_turn` is valid: the last answer ended by its budget or by a stop, and is in the caches."""
        return self._open and self._held() == self._end and self.session.state in ("PENDING", "PREDICTED")

    def send(
        self,
        text: str,
        max_new: int = 256,
        sampling: object | None = None,
        verify: str = "rejection",
        burst: int = 32,
        stop: Sequence[str] = (),
        on_tokens: OnDelta | None = None,
        overshoot: Overshoot = "keep",
    ) -> Turn:
        """Answer `text` with at most `max_new` tokens, in bursts of `burst`.

        `on_tokens` gets what is shown as it comes, and an empty delta before any forward and between prefill
        chunks; False ends the turn at the round edge. Stopped before its first token, a turn leaves no message.
        After any other error what was generated stays, in `messages` and in the session.

        Raises:
            EngineError: empty text, an argument out of range, or a template that refuses the conversation.
            ContextFull: the prompt does not fit; nothing changed.
            SessionStateError: another turn runs, or an option is not available in this version.
        """
        _require_greedy(sampling, verify, stop)
        _require_sizes(max_new, burst, overshoot)
        if not isinstance(text, str) or not text.strip():
            raise EngineError("The message is empty; write something to send.")
        with self._exclusive():
            messages = [*self._messages, {"role": "user", "content": text}]
            hidden = self._live_hidden()
            shown = self.session.history[: self._held() - len(hidden)]
            prompt = self._prompt(messages, shown)
            decoder = self._new_decoder()
            run = TurnRun(self.session, decoder, max_new, burst, overshoot, on_tokens)
            start = len(prompt.ids)
            reason: Reason = "cancelled"
            if not run.poll():  # before anything is dropped or rewound
                return run.as_turn("cancelled", start)
            try:
                event, suffix = self._prepare(prompt, hidden)
                at = prompt.checkpoint_at
                lowest = self._held() + (self.session.state == "FRESH")
                reason = run.run(suffix, at if at is not None and at >= lowest else None, event)
            finally:
                turn = run.as_turn(reason, start)
                if run.tokens:
                    self._messages = [*messages, {"role": "assistant", "content": run.text}]
                    self._answers[len(messages)] = Answer(tuple(run.tokens), run.text)
                    self._decoder = decoder
                    self._settle(run, turn)
            return turn

    def continue_turn(
        self,
        max_new: int = 256,
        burst: int = 32,
        on_tokens: OnDelta | None = None,
        overshoot: Overshoot = "keep",
    ) -> Turn:
        """Go on with an answer that was cut short: first its overshoot, already computed, then more bursts.

        The `Turn` is the continuation alone; `messages` has the joined text.

        Raises:
            EngineError: an argument is out of range.
            ContextFull: no row is left; nothing changed.
            SessionStateError: there is nothing to continue, or another turn runs.
        """
        _require_sizes(max_new, burst, overshoot)
        with self._exclusive():
            if not self.can_continue:
                raise SessionStateError(
                    "There is no answer to continue: only one that ended by its length or by a stop can be; call send."
                )
            run = TurnRun(self.session, self._decoder, max_new, burst, overshoot, on_tokens)
            hidden, origin = self._live_hidden(), self._hidden_origin
            start = self._end - len(hidden)
            reason: Reason = "cancelled"
            if not run.poll():
                return run.as_turn("cancelled", start)
            run.hidden, run.hidden_origin = hidden[max_new:], origin[max_new:]
            try:
                run.show_hidden(hidden[:max_new], origin[:max_new])
                reason = run.run((), None, None)
            finally:
                turn = run.as_turn(reason, start)
                if run.tokens or reason == "stop":
                    self._join(run)
                    self._settle(run, turn)
            return turn

    def clear(self) -> None:
        """Forget the conversation, except for the system message. Raises `SessionStateError` while a turn runs."""
        with self._exclusive():
            reset(self.session, "clear")
            self._messages = [m for m in self._messages[:1] if m["role"] == "system"]
            self._answers = {}
            self._turn, self._open, self._end = None, False, 0
            self._hidden_origin = []

    def _prompt(self, messages: list[dict[str, str]], history: list[int]) -> Prompt:
        """The next prompt, or `ContextFull` if its rows do not fit."""
        engine = self.engine
        prompt = build_prompt(engine.tokenizer, messages, self._answers, history, engine.stop_ids)
        needed, most = len(prompt.ids), self.session.cache_max_ctx()
        if needed > most:
            raise ContextFull(
                f"With this message the conversation has {needed} tokens, and the context holds {most}; shorten the "
                "message, clear the conversation, or start with a larger --max-ctx.",
                used=len(history),
                needed=needed,
                max_ctx=most,
            )
        return prompt

    def _prepare(self, prompt: Prompt, hidden: list[int]) -> tuple[TurnEvent, list[int]]:
        """Bring the session to where `prompt` goes on, and return the trace's event and what is left of it."""
        session = self.session
        if hidden:
            self._forget_hidden(len(hidden))
        history = session.history
        reuse = plan_reuse(
            self.engine.tokenizer,
            prompt.ids,
            history,
            session.rewind_points(),
            trusted=session.state != "FAILED",
        )
        if reuse.decision == "rewind":
            spec_rewind_to_checkpoint(session, reuse.checkpoint)
        elif reuse.decision == "prime":
            reset(session, "prime")
        event = reuse.as_event(session.turn + 1, history=len(history), dropped=len(hidden))
        return event, reuse.suffix

    def _forget_hidden(self, count: int) -> None:
        """Drop overshoot that was not shown. If its round is gone (evicted rows), comparing ids will do it."""
        assert self._turn is not None
        try:
            drop_overshoot(self.session, count)
        except SessionStateError:
            return
        self._end -= count
        self._turn, self._hidden_origin = replace(self._turn, hidden=[]), []

    def _settle(self, run: TurnRun, turn: Turn) -> None:
        self._turn, self._hidden_origin = turn, run.hidden_origin
        self._open = turn.reason in ("length", "cancelled")
        self._end = turn.start + len(run.tokens) + len(run.hidden)

    def _join(self, run: TurnRun) -> None:
        """Append what a continuation showed to the answer it continues."""
        last = len(self._messages) - 1
        answer = self._answers[last]
        text = answer.text + run.text
        self._answers[last] = Answer((*answer.ids, *run.tokens), text)
        self._messages = [*self._messages[:last], {"role": "assistant", "content": text}]

    def _held(self) -> int:
        """Length of the session's emitted history."""
        return len(self.session.committed) + (self.session.pending_tok is not None)

    def _live_hidden(self) -> list[int]:
        """Overshoot of the last turn that the session still ends with."""
        return list(self._turn.hidden) if self._turn is not None and self._held() == self._end else []

    def _new_decoder(self) -> Detokenizer:
        return Detokenizer(self.engine.tokenizer, self.engine.stop_ids)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise SessionStateError("A turn is running in this conversation; wait for its end or stop it first.")
        try:
            yield
        finally:
            self._busy.release()


def _require_sizes(max_new: int, burst: int, overshoot: str) -> None:
    for name, value in (("max_new", max_new), ("burst", burst)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise EngineError(f"{name} must be a whole number of at least 1, got {value!r}.")
    if overshoot not in ("keep", "trim"):
        raise EngineError(f"overshoot must be 'keep' or 'trim', got {overshoot!r}.")


def _require_greedy(sampling: object | None, verify: str, stop: Sequence[str]) -> None:
    if verify not in ("rejection", "coupled"):
        raise EngineError(f"verify must be 'rejection' or 'coupled', got {verify!r}.")
    if sampling is not None and getattr(sampling, "temperature", None) != 0:
        raise SessionStateError("Sampling is not available in this version; send without it for greedy decoding.")
    if stop:
        raise SessionStateError("Stop strings are not available in this version; send without them.")
