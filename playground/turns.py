"""The turns of one conversation: begun on the worker, reported as they go, stopped."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from playground import said
from playground.asked import Asked
from playground.calls import Calls
from playground.conversations.continuity import Continuity
from playground.limits import Refused, TurnOptions, check_number
from playground.live_chat import LiveChat
from playground.sentences import NOTHING
from playground.stepping import Stepping
from playground.turn_callbacks import TurnCallbacks
from playground.view import Outcome, View
from playground.worker import Worker

if TYPE_CHECKING:
    from engine.chat import ChatSession, Turn
    from playground.keeper import Keeper


class Turns:
    """A `ChatSession` behind a lock, driven by the worker. `sid` is the secret that opens it."""

    def __init__(
        self, sid: str, worker: Worker, make_chat: Callable[[], ChatSession], keeper: Keeper | None = None
    ) -> None:
        self.sid = sid
        self.options: TurnOptions | None = None
        """Settings of the latest turn, for a page that comes back; None before the first."""
        self._rest = Continuity(sid, keeper)
        self._live = LiveChat(make_chat, self._rest)
        self._calls = Calls(sid, worker, self._live.at_rest, lambda: self._rest.save(self.chat, self.options))
        self.stepping = Stepping(worker, lambda waiting: self._calls.update(waiting=waiting))
        """Whether its turns wait for their visitor, and where."""
        self._callbacks = TurnCallbacks(
            self._calls, worker, self.stepping, self._live.drafter, lambda: self.chat, self._rest.so_far
        )

    @property
    def chat(self) -> ChatSession | None:
        """The engine side; None before the first turn. Its trace may be read from any thread."""
        return self._live.chat

    @property
    def asked(self) -> Asked:
        """What its turns answer, for who takes its trace along."""
        return self._rest.asked

    def view(self) -> View:
        """The present reading."""
        return self._calls.view

    def send(self, message: str, options: TurnOptions) -> Future[Turn]:
        """Queue a turn. Raises `Refused` while another one runs; then nothing has changed."""

        def turn() -> Turn:
            return self._finish(self._ready(options).send(message, **self._asks(options)))

        def shows(messages: said.Messages) -> said.Messages:
            return said.with_question(messages, message)

        return self._calls.start(turn, shows, message, begin=self._begins(options))

    def continue_turn(self, options: TurnOptions) -> Future[Turn]:
        """Queue more of the last answer, or after a rewind its beginning.

        Raises `Refused` when there is nothing to continue, or while busy.
        """

        def turn() -> Turn:
            return self._finish(self._ready(options).continue_turn(**self._asks(options)))

        return self._calls.start(turn, said.resumed, resumes=True, begin=self._begins(options))

    def regenerate(self, options: TurnOptions) -> Future[Turn]:
        """Queue another answer to the last message. Raises `Refused` before the first message or while busy."""

        def turn() -> Turn:
            return self._finish(self._ready(options).regenerate(**self._asks(options)))

        self._require_messages()
        return self._calls.start(turn, said.again, begin=self._begins(options))

    def edit(self, number: int, message: str, options: TurnOptions) -> Future[Turn]:
        """Queue another user message `number`, counted from 0, in place of what stands there and after it.

        Raises `Refused` if there is no such message, or while busy.
        """

        def turn() -> Turn:
            return self._finish(self._ready(options).edit(number, message, **self._asks(options)))

        self._require_messages()
        check_number("Message", number, 0, len(said.questions(self._calls.view.messages)) - 1)
        return self._calls.start(
            turn, lambda messages: said.edited(messages, number, message), begin=self._begins(options)
        )

    def stop(self) -> None:
        """End the running turn or check at the next poll: within one forward. Harmless when idle."""
        self._calls.stop()
        self.stepping.release()

    def _begins(self, options: TurnOptions) -> Callable[[said.Messages], None]:
        return lambda messages: self._rest.begin(messages, options)

    def _require_messages(self) -> None:
        if not self._calls.view.messages:
            raise Refused(NOTHING)

    def _ready(self, options: TurnOptions) -> ChatSession:
        chat = self._live.ready(options)
        self.options = options
        self.stepping.begin()
        self.asked.note(chat.session.trace, said.questions(self._calls.view.messages)[-1])
        self._calls.update(phase="prefill")
        return chat

    def _asks(self, options: TurnOptions) -> dict[str, Any]:
        return options.of_turn(**self._callbacks.begin())

    def _finish(self, turn: Turn) -> Turn:
        rate, seed = self._callbacks.rate.overall(), self._live.seed(self.options)
        self._calls.early = not turn.tokens and turn.reason == "cancelled"
        self._rest.moved = self._rest.moved and self._calls.early
        self._calls.update(outcome=Outcome(turn.reason, len(turn.tokens), len(turn.hidden), rate, seed), tok_s=rate)
        return turn
