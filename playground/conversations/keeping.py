"""Keeps the trace of one conversation: behind its turns, on a thread that no answer waits for.

A turn's own events are written, not the whole trace: a conversation may have tens of thousands. They are written a few
hundred at a time, with a rest after each, because the thread shares the interpreter with whoever is answering.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.trace import Trace
from playground.exchange.trace_file import export_trace
from playground.store import StoreError

if TYPE_CHECKING:
    from playground.keeper import Keeper

PART = 250
"""Events written at a time: some 20 ms of work."""
Messages = Callable[[], Mapping[int, str]]
log = logging.getLogger(__name__)


class TraceKeeping:
    """`saving` is held for each part, and by whoever saves messages or forgets the conversation."""

    def __init__(self, sid: str, keeper: Keeper, saving: threading.Lock) -> None:
        self.trace: Trace | None = None
        """Whose parts are in the store."""
        self.gone = False
        """Nothing is kept any more. Set while `saving` is held, as `trace` is."""
        self._sid = sid
        self._keeper = keeper
        self._saving = saving
        self._of: Trace | None = None
        self._next = 0
        """The first event of `_of` that is not written yet. Only the thread behind changes both."""

    def adopt(self, trace: Trace) -> None:
        """`trace` came from the store, so all of it is there. Before anything else."""
        self.trace = self._of = trace
        self._next = trace.next_seq

    def keep(self, trace: Trace, tokenizer: Any, messages: Messages) -> None:
        """Write what is new in `trace`, soon. Without a tokenizer the texts are those that it brought along."""
        self._keeper.behind.do(lambda: self._write(trace, tokenizer, messages))

    def _write(self, trace: Trace, tokenizer: Any, messages: Messages) -> None:
        if trace is not self._of:
            self._of, self._next = trace, 0
        if not (kept := trace.since(0)):
            return
        oldest = kept[0].seq
        try:
            while events := trace.since(self._next)[:PART]:
                clock = time.monotonic()
                part = Trace.kept(trace.header, events)
                data = export_trace(part, tokenizer, compressed=True, messages=messages())
                past = events[-1].seq + 1
                with self._saving:
                    if self.gone or trace is not self.trace or self._sid not in self._keeper.store:
                        return
                    self._keeper.store.save_trace(self._sid, data, events[0].seq, past, oldest=oldest)
                self._next = past
                self._keeper.behind.rest(time.monotonic() - clock)
        except StoreError as error:
            log.warning("a trace could not be kept: %s", error)
