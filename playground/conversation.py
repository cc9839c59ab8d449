"""One live conversation: what runs, what was said, and what viewers may read of it at any time.

The worker thread writes, any number of viewers read. A viewer that goes away takes nothing with it, and a page that
comes back finds the text, the trace and a running turn where they are.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from engine.errors import EngineError
from playground import said
from playground.exactness import Check, check_session, verdict
from playground.limits import Refused, TurnOptions, check_number
from playground.rate import Rate
from playground.sentences import BUSY, CHECKING, NOTHING, NOTHING_TO_CHECK, STOPPED, UNCHANGED, UNEXPECTED
from playground.view import Outcome, Phase, View
from playground.worker import Worker

if TYPE_CHECKING:
    from engine.chat import ChatSession, Turn, TurnDelta
    from engine.events import CheckEvent
    from playground.stream import DeltaStream
    from playground.viewer import Watch

T = TypeVar("T")
log = logging.getLogger(__name__)


class Conversation:
    """A `ChatSession` behind a lock, driven by the worker. `sid` is the secret that opens it."""

    def __init__(
        self, sid: str, worker: Worker, make_chat: Callable[[], ChatSession], check: Check = check_session
    ) -> None:
        self.sid = sid
        self.viewers: dict[str, Watch] = {}
        """Page session -> what that page has been shown."""
        self.stream: DeltaStream | None = None
        """What the pages' panels are fed from."""
        self.touched = time.monotonic()
        self.options: TurnOptions | None = None
        """Settings of the latest turn, for a page that comes back; None before the first."""
        self._worker = worker
        self._make_chat = make_chat
        self._check = check
        self._aside: threading.Thread | None = None
        """Runs a check; a turn runs on the worker."""
        self._chat: ChatSession | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._rate = Rate()
        self._unsent = ""
        self._system = ""
        self._early = False
        """Whether the turn just ended was stopped before its first token."""
        self._applied: tuple[str, int] | None = None
        self._view = View()

    @property
    def chat(self) -> ChatSession | None:
        """The engine side; None before the first turn. Its trace may be read from any thread."""
        return self._chat

    def view(self) -> View:
        """The present reading."""
        return self._view

    def send(self, message: str, options: TurnOptions) -> Future[Turn]:
        """Queue a turn. Raises `Refused` while another one runs; then nothing has changed."""

        def turn() -> Turn:
            return self._finish(self._ready(options).send(message, **options.of_turn(on_tokens=self._on_tokens)))

        return self._start(turn, lambda messages: said.with_question(messages, message), message)

    def continue_turn(self, options: TurnOptions) -> Future[Turn]:
        """Queue more of the last answer, or after a rewind its beginning.

        Raises `Refused` when there is nothing to continue, or while busy.
        """

        def turn() -> Turn:
            return self._finish(self._ready(options).continue_turn(**options.of_turn(on_tokens=self._on_tokens)))

        return self._start(turn, said.resumed, resumes=True)

    def regenerate(self, options: TurnOptions) -> Future[Turn]:
        """Queue another answer to the last message. Raises `Refused` before the first message or while busy."""

        def turn() -> Turn:
            return self._finish(self._ready(options).regenerate(**options.of_turn(on_tokens=self._on_tokens)))

        self._require_messages()
        return self._start(turn, said.again)

    def edit(self, number: int, message: str, options: TurnOptions) -> Future[Turn]:
        """Queue another user message `number`, counted from 0, in place of what stands there and after it.

        Raises `Refused` if there is no such message, or while busy.
        """

        def turn() -> Turn:
            return self._finish(
                self._ready(options).edit(number, message, **options.of_turn(on_tokens=self._on_tokens))
            )

        self._require_messages()
        check_number("Message", number, 0, len(said.questions(self._view.messages)) - 1)
        return self._start(turn, lambda messages: said.edited(messages, number, message))

    def clear(self) -> Future[None]:
        """Forget messages and rows; settings and figures stay. Raises `Refused` while a turn runs."""

        def clear() -> None:
            if self._chat is not None:
                self._chat.clear()
            self._update(outcome=None)

        return self._start(clear)

    def rewind(self, pos: int) -> Future[int]:
        """Go back to a rewind point; messages follow. Raises `Refused` while a turn runs or before the first one."""

        def rewind() -> int:
            if self._chat is None:
                raise Refused("This conversation has no rewind point yet; send a message first.")
            self._chat.rewind(pos)
            self._update(outcome=None)
            return len(self._chat.session.committed)

        return self._start(rewind)

    def check(self) -> Future[CheckEvent]:
        """Compare what was generated with plain decoding, on a thread of its own, so that others are answered
        meanwhile. Raises `Refused` before the first answer, or while busy."""
        chat = self._chat
        if chat is None or not self._view.messages:
            raise Refused(NOTHING_TO_CHECK)

        def progress(done: int, total: int) -> bool:
            self._update(checked=(done, total))
            return not self._stop.is_set()

        def tell(event: CheckEvent) -> str:
            return verdict(event, chat.session.engine.tokenizer)

        return self._start(lambda: self._check(chat.session, progress), aside=True, tell=tell)

    def stop(self) -> None:
        """End the running turn or check at the next poll: within one forward. Harmless when idle."""
        if not self._view.running:
            return
        self._stop.set()
        waiting = self._worker.withdraw(self.sid)
        if waiting is not None:
            waiting()  # ends at once, for it looks at the flag first

    def take_unsent(self) -> str:
        """The message of a turn that never happened, once; '' otherwise."""
        with self._lock:
            message, self._unsent = self._unsent, ""
            return message

    def close(self) -> None:
        """Release the engine's side. Only the worker calls it."""
        self._stop.set()
        self.join()
        if self._chat is not None:
            self._chat.session.close()
            self._chat = self._applied = None
            self._system = ""

    def join(self, timeout: float = 10.0) -> None:
        """Wait for a check that was stopped."""
        if self._aside is not None:
            self._aside.join(timeout)

    def detach(self) -> None:
        """The engine is being replaced: begin anew with the next turn, and say so. Only the worker calls it."""
        if self._chat is not None:
            self.close()
            self._update(
                messages=(), outcome=None, can_continue=False, notice="Another model was loaded; this begins anew."
            )

    def _require_messages(self) -> None:
        if not self._view.messages:
            raise Refused(NOTHING)

    def _start(
        self,
        work: Callable[[], T],
        shows: Callable[[said.Messages], said.Messages] = tuple,
        message: str = "",
        *,
        resumes: bool = False,
        aside: bool = False,
        tell: Callable[[T], str] = lambda _: "",
    ) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            view = self._view
            if view.running:
                raise Refused(CHECKING if view.phase == "checking" else BUSY)
            if resumes and not view.can_continue:
                raise Refused("There is no unfinished answer to continue; send a message first.")
            self._stop.clear()
            self._rate, self._early = Rate(), False
            self.touched = time.monotonic()
            shown, phase = shows(view.messages), "checking" if aside else "waiting"
            rate = view.tok_s if aside else None
            self._set(running=True, phase=phase, messages=shown, notice="", tok_s=rate, can_continue=False)
        before = len(said.answered(view.messages))
        run = partial(self._run, work, message, before, future, tell)
        if aside:
            self._aside = threading.Thread(target=run, name="check", daemon=True)
            self._aside.start()
        else:
            self._worker.submit(self.sid, run)
        return future

    def _run(
        self, work: Callable[[], T], message: str, before: int, future: Future[T], tell: Callable[[T], str]
    ) -> None:
        try:
            if self._stop.is_set() and self._view.phase != "checking":
                raise Refused(STOPPED)
            result = work()
        except (EngineError, Refused) as known:
            self._end(message, before, str(known))
            future.set_exception(known)
        except Exception as unknown:
            log.exception("a turn failed")
            self._end(message, before, UNEXPECTED)
            error = Refused(UNEXPECTED)
            error.__cause__ = unknown
            future.set_exception(error)
        else:
            self._end(message, before, tell(result))
            future.set_result(result)

    def _end(self, message: str, before: int, notice: str) -> None:
        with self._lock:
            messages = said.on_page(self._chat)
            if message and len(messages) <= before + 1:  # a message without an answer is an older one
                self._unsent, notice = message, notice or STOPPED
            elif self._early:
                notice = notice or UNCHANGED
            self.touched = time.monotonic()
            chat = self._chat
            can = chat is not None and chat.can_continue
            self._set(running=False, phase="idle", checked=None, messages=messages, notice=notice, can_continue=can)

    def _ready(self, options: TurnOptions) -> ChatSession:
        if self._chat is None:
            self._chat = self._make_chat()
        session = self._chat.session
        wanted = (options.drafter, options.draft_len)
        if wanted != (self._applied or (session.drafter.name, session.draft_len)):
            session.set_drafter(*wanted)
        self._applied = wanted
        if options.system != self._system:
            self._chat.set_system(options.system)
            self._system = options.system
        self.options = options
        self._update(phase="prefill")
        return self._chat

    def _on_tokens(self, delta: TurnDelta) -> bool:
        with self._lock:
            self._rate.add(len(delta.tokens))
            messages = self._view.messages
            if delta.text:
                role, text = messages[-1]
                messages = (*messages[:-1], (role, text + delta.text))
            phase: Phase = "decoding" if delta.tokens or self._view.phase == "decoding" else "prefill"
            self._set(messages=messages, phase=phase, tok_s=self._rate.recent() or self._view.tok_s)
        return not self._stop.is_set()

    def _finish(self, turn: Turn) -> Turn:
        rate = self._rate.overall()
        self._early = not turn.tokens and turn.reason == "cancelled"
        self._update(outcome=Outcome(turn.reason, len(turn.tokens), len(turn.hidden), rate), tok_s=rate)
        return turn

    def _update(self, **changes: object) -> None:
        with self._lock:
            self._set(**changes)

    def _set(self, **changes: object) -> None:
        self._view = replace(self._view, version=self._view.version + 1, **changes)  # type: ignore[arg-type]
