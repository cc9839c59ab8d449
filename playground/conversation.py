"""One live conversation: what runs, what was said, and what viewers may read of it at any time.

The worker thread writes, any number of viewers read. A viewer that goes away takes nothing with it, and a page that
comes back finds the text, the trace and a running turn where they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from playground import said
from playground.calls import Calls
from playground.conversations.continuity import Continuity
from playground.exactness import Check, check_session, not_compared, verdict
from playground.give_back import give_back, require_idle, told
from playground.limits import Refused, TurnOptions, check_number
from playground.live_chat import LiveChat
from playground.sentences import NOT_READ_YET, NOTHING, NOTHING_TO_CHECK
from playground.stepping import Stepping
from playground.turn_callbacks import TurnCallbacks
from playground.view import Outcome, View
from playground.worker import Worker

if TYPE_CHECKING:
    from engine import Engine
    from engine.chat import ChatSession, Turn
    from engine.events import CheckEvent
    from engine.trace import Trace
    from playground.asked import Asked
    from playground.conversations.record import Record
    from playground.keeper import Keeper, Kept
    from playground.stream import DeltaStream
    from playground.viewer import Watch


class Conversation:
    """A `ChatSession` behind a lock, driven by the worker. `sid` is the secret that opens it."""

    def __init__(
        self,
        sid: str,
        worker: Worker,
        make_chat: Callable[[], ChatSession],
        check: Check = check_session,
        keeper: Keeper | None = None,
    ) -> None:
        self.sid = sid
        self.viewers: dict[str, Watch] = {}
        """Page session -> what that page has been shown."""
        self.stream: DeltaStream | None = None
        """What the pages' panels are fed from."""
        self.options: TurnOptions | None = None
        """Settings of the latest turn, for a page that comes back; None before the first."""
        self._worker = worker
        self._check = check
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
    def record(self) -> Record | None:
        """What was recorded of it before, while there is no engine side."""
        return self._rest.record if self.chat is None else None

    @property
    def trace(self) -> Trace | None:
        """Its events, for any thread; those that were recorded before, until the next turn. None before the first."""
        return self._live.trace

    @property
    def asked(self) -> Asked:
        """What its turns answer, for who takes its trace along."""
        return self._rest.asked

    @property
    def alternatives(self) -> bool | None:
        """Whether its rounds record the most probable tokens; None: where that costs next to nothing."""
        return self._live.alternatives

    @property
    def elsewhere(self) -> bool:
        """Whether it shows another branch than the one whose rows are in the caches, until the next message."""
        return self._rest.moved

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

    def clear(self) -> Future[None]:
        """Forget messages and rows; settings and figures stay. Raises `Refused` while a turn runs."""

        def clear() -> None:
            if self.chat is not None:
                self.chat.clear()
            self._rest.clear()
            self._calls.update(outcome=None)

        return self._calls.start(clear)

    def rewind(self, pos: int) -> Future[int]:
        """Go back to a rewind point; messages follow, and where they are kept the former path stays as a branch.

        Raises `Refused` while a turn runs or before the first one.
        """

        def rewind() -> int:
            if self.chat is None:
                raise Refused("This conversation has no rewind point yet; send a message first.")
            self.chat.rewind(pos)
            self._rest.moved = False
            self._calls.update(outcome=None)
            return len(self.chat.session.committed)

        return self._calls.start(rewind, tell=lambda _: self._rest.gone_back(self.chat))

    def give_back(self) -> Future[int]:
        """Give the rows back; the next turn computes them again. Raises `Refused` while something runs."""
        require_idle(self.view())
        return self._calls.start(lambda: give_back(self.chat), tell=told)

    def show_branch(self, node: int, engine: Engine | None) -> Future[str]:
        """Show the path to a stored message; the caches follow with the next message, as the notice says.

        In the line like what else changes a chat, and at once where there is none. Raises `Refused` while a turn runs.
        """

        def show() -> str:
            told = self._live.show(node, engine)
            self._calls.update(outcome=None)
            return told

        return self._calls.start(show, here=lambda: self.chat is None, tell=str)

    def revive(
        self, kept: Kept, options: TurnOptions, how: str, engine: Engine | None, record: Record | None = None
    ) -> None:
        """Show what was kept and recorded of it; the next turn goes on from there. For one that is new."""
        self.options = options
        notice = self._rest.take(kept, how, engine, record)
        messages, can = self._live.at_rest()
        self._calls.update(messages=messages, can_continue=can, notice=notice)

    def engine_is_here(self, engine: Engine) -> None:
        """An engine has loaded: say what the next message will cost. Only the worker calls it."""
        said_so = self._rest.outlook(engine)
        if said_so and not self._calls.view.running:
            self._calls.update(notice=said_so)

    def forget(self) -> None:
        """It was deleted: nothing of it is kept from now on, and what runs ends."""
        self._rest.forget()
        self.stop()

    def check(self) -> Future[CheckEvent]:
        """Compare what was generated with plain decoding, on a thread of its own, so that others are answered
        meanwhile. Raises `Refused` before the first answer, or while busy."""
        chat = self.chat
        if chat is None or not self._calls.view.messages:
            raise Refused(NOT_READ_YET if self._rest.waits else NOTHING_TO_CHECK)
        if self._rest.moved:
            raise Refused(NOT_READ_YET)

        def progress(done: int, total: int) -> bool:
            self._calls.update(checked=(done, total))
            return not self._calls.stopping

        def tell(event: CheckEvent) -> str:
            return verdict(event, chat.session.engine.tokenizer, not_compared(event, chat))

        return self._calls.start(lambda: self._check(chat.session, progress), aside=True, tell=tell)

    def choose_drafter(self, drafter: str, draft_len: int) -> None:
        """Change drafter and K from the next burst on, of a running turn too."""
        self._live.drafter.ask(drafter, draft_len)
        if self.options is not None:
            self.options = replace(self.options, drafter=drafter, draft_len=draft_len)

    def record_alternatives(self, on: bool) -> None:
        """Record the most probable tokens of each round or not, from the next round on."""
        self._live.record_alternatives(on)

    def stop(self) -> None:
        """End the running turn or check at the next poll: within one forward. Harmless when idle."""
        self._calls.stop()
        self.stepping.release()

    def take_unsent(self) -> str:
        """The message of a turn that never happened, once; '' otherwise."""
        return self._calls.take_unsent()

    def touch(self) -> None:
        """Note that someone asked for it."""
        self._calls.touched = time.monotonic()

    @property
    def touched(self) -> float:
        """When it was last asked for, on the monotonic clock."""
        return self._calls.touched

    def join(self) -> None:
        """Stop what runs, and wait for a check."""
        self.stepping.release()
        self._calls.end()
        self._rest.keep_trace(self.chat)

    def close(self) -> None:
        """Release the engine's side. Only the worker calls it."""
        self._calls.end()
        self._live.let_go()

    def detach(self) -> None:
        """The engine is being replaced: the next one reads what was said again. Only the worker calls it."""
        if self.chat is not None:
            self._calls.end_aside()
            notice = self._rest.set_aside(self.chat, "Another model was loaded")
            self._live.let_go()
            messages, can = self._live.at_rest()
            rest: dict[str, object] = {"outcome": None, "messages": messages, "can_continue": can, "notice": notice}
            # A message that waits in the line is for the next engine: it stays in sight, with its answer to come.
            self._calls.revise(lambda view: {"outcome": None} if view.running else rest)

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
