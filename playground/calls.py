"""One call at a time on a conversation: begun, run on the worker or beside it, stopped, and its view kept meanwhile."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TypeVar

from engine.errors import EngineError
from playground import said
from playground.failures import let_go, sentence_of
from playground.limits import Refused
from playground.sentences import BUSY, CHECKING, STOPPED, UNCHANGED, UNEXPECTED
from playground.view import View
from playground.worker import Worker

T = TypeVar("T")
AtRest = Callable[[], tuple[said.Messages, bool]]
"""What a page shows between calls: the messages, and whether the last answer can be continued."""
log = logging.getLogger(__name__)


class Calls:
    """The calls of one conversation and the `View` that they write. `sid` names it in the worker's line.

    `keep` is called after each call that may have changed what was said; it returns why that is not kept, or ''.
    """

    def __init__(self, sid: str, worker: Worker, at_rest: AtRest, keep: Callable[[], str] = str) -> None:
        self.view = View()
        self.touched = time.monotonic()
        self.early = False
        """Whether the turn just run was stopped before its first token; its work says so."""
        self.late = ""
        """Why a change during the call did not take effect; its work says so."""
        self._sid = sid
        self._worker = worker
        self._at_rest = at_rest
        self._keep = keep
        self._aside: threading.Thread | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._unsent = ""

    @property
    def stopping(self) -> bool:
        """Whether the running call was asked to end."""
        return self._stop.is_set()

    def start(
        self,
        work: Callable[[], T],
        shows: Callable[[said.Messages], said.Messages] = tuple,
        message: str = "",
        *,
        resumes: bool = False,
        aside: bool = False,
        here: Callable[[], bool] = lambda: False,
        begin: Callable[[said.Messages], None] = lambda _: None,
        tell: Callable[[T], str] = lambda _: "",
    ) -> Future[T]:
        """Run `work` when the engine is free, at once on a thread of its own (`aside`), or at once (`here`, asked once
        nothing else can begin).

        `shows` makes the messages shown meanwhile, which `begin` is told; `message` goes back to its box if nothing
        came of it, and `tell` puts the result into a sentence. Raises `Refused` while another call runs.
        """
        future: Future[T] = Future()
        with self._lock:
            view = self.view
            if view.running:
                raise Refused(CHECKING if view.phase == "checking" else BUSY)
            if resumes and not view.can_continue:
                raise Refused("There is no unfinished answer to continue; send a message first.")
            self._stop.clear()
            self.early, self.late = False, ""
            self.touched = time.monotonic()
            shown, phase = shows(view.messages), "checking" if aside else "waiting"
            rate, at_once = view.tok_s if aside else None, here()
            self._set(running=True, phase=phase, messages=shown, notice="", tok_s=rate, can_continue=False)
        begin(shown)
        before = len(said.answered(view.messages))
        run = partial(self._run, work, message, before, future, tell)
        if aside:
            self._aside = threading.Thread(target=run, name="check", daemon=True)
            self._aside.start()
        elif at_once:
            run()
        else:
            self._worker.submit(self._sid, run)
        return future

    def stop(self) -> None:
        """End the running call at its next poll. Harmless when idle."""
        if not self.view.running:
            return
        self._stop.set()
        self._worker.end_soon(self._sid)

    def end(self, timeout: float = 10.0) -> None:
        """Stop whatever runs, and wait for a call aside."""
        self._stop.set()
        self.end_aside(timeout)

    def end_aside(self, timeout: float = 10.0) -> None:
        """Stop a call aside and wait for it; one that waits in the line goes on waiting."""
        if self.view.phase == "checking":
            self._stop.set()
        if self._aside is not None:
            self._aside.join(timeout)

    def take_unsent(self) -> str:
        """The message of a turn that never happened, once; '' otherwise."""
        with self._lock:
            message, self._unsent = self._unsent, ""
            return message

    def update(self, **changes: object) -> None:
        """Change the view."""
        with self._lock:
            self._set(**changes)

    def revise(self, change: Callable[[View], dict[str, object]]) -> None:
        """Change the view by what it is now."""
        with self._lock:
            self._set(**change(self.view))

    def _run(
        self, work: Callable[[], T], message: str, before: int, future: Future[T], tell: Callable[[T], str]
    ) -> None:
        try:
            if self.stopping and self.view.phase != "checking":
                raise Refused(STOPPED)
            result = work()
        except (EngineError, Refused) as known:
            self._end(message, before, str(known))
            future.set_exception(known)
        except Exception as unknown:
            log.exception("a turn failed")
            self._fail(message, before, future, unknown)
        else:
            self._end(message, before, tell(result))
            future.set_result(result)
        finally:
            if not future.done():  # the thread itself is being ended, by a library or from outside
                self._fail(message, before, future, None)

    def _fail(self, message: str, before: int, future: Future[T], cause: Exception | None) -> None:
        sentence = UNEXPECTED if cause is None else sentence_of(cause)
        if cause is not None:
            let_go(cause)
        self._end(message, before, sentence)
        error = Refused(sentence)
        error.__cause__ = cause
        future.set_exception(error)

    def _end(self, message: str, before: int, notice: str) -> None:
        unkept = self.view.unkept if self.view.phase == "checking" else self._keep()
        with self._lock:
            messages, can = self._at_rest()
            if message and len(messages) <= before + 1:  # a message without an answer is an older one
                self._unsent, notice = message, notice or STOPPED
            elif self.early:
                notice = notice or UNCHANGED
            notice = notice or self.late
            self.touched = time.monotonic()
            self._set(
                running=False,
                phase="idle",
                checked=None,
                messages=messages,
                notice=notice,
                unkept=unkept,
                can_continue=can,
            )

    def _set(self, **changes: object) -> None:
        self.view = replace(self.view, version=self.view.version + 1, **changes)  # type: ignore[arg-type]
