"""One live conversation: its turns, its ways back, and what viewers may read of it at any time.

The worker thread writes, any number of viewers read. A viewer that goes away takes nothing with it, and a page that
comes back finds the text, the trace and a running turn where they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING

from playground.exactness import Check, check_session, not_compared, verdict
from playground.give_back import give_back, require_idle, told
from playground.limits import Refused, TurnOptions
from playground.sentences import NOT_READ_YET, NOTHING_TO_CHECK
from playground.turns import Turns
from playground.worker import Worker

if TYPE_CHECKING:
    from engine import Engine
    from engine.chat import ChatSession
    from engine.chat.rewind_targets import RewindTarget
    from engine.events import CheckEvent
    from engine.trace import Trace
    from playground.conversations.record import Record
    from playground.keeper import Keeper, Kept
    from playground.stream import DeltaStream
    from playground.viewer import Watch


class Conversation(Turns):
    """Turns, and what else can be done with them: go back, branch, check, keep. Viewers read it at any time."""

    def __init__(
        self,
        sid: str,
        worker: Worker,
        make_chat: Callable[[], ChatSession],
        check: Check = check_session,
        keeper: Keeper | None = None,
    ) -> None:
        super().__init__(sid, worker, make_chat, keeper)
        self.viewers: dict[str, Watch] = {}
        """Page session -> what that page has been shown."""
        self.stream: DeltaStream | None = None
        """What the pages' panels are fed from."""
        self._check = check

    @property
    def record(self) -> Record | None:
        """What was recorded of it before, while there is no engine side."""
        return self._rest.record if self.chat is None else None

    @property
    def trace(self) -> Trace | None:
        """Its events, for any thread; those that were recorded before, until the next turn. None before the first."""
        return self._live.trace

    @property
    def alternatives(self) -> bool | None:
        """Whether its rounds record the most probable tokens; None: where that costs next to nothing."""
        return self._live.alternatives

    @property
    def targets(self) -> list[RewindTarget]:
        """Where it can be rewound to."""
        chat = self.chat
        return [] if chat is None else chat.rewind_targets

    @property
    def elsewhere(self) -> bool:
        """Whether it shows another branch than the one whose rows are in the caches, until the next message."""
        return self._rest.moved

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
