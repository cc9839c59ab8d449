"""The one thread that touches the engine. Jobs run one after another; the page only ever reads what they leave."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

IDLE_S = 15.0
"""How often `idle` is called while there is nothing to do, in seconds."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """One conversation turn, one load, one clean-up. `owner` groups jobs for the waiting line."""

    owner: str
    run: Callable[[], None]


class Worker:
    """A FIFO of jobs on one daemon thread. A job that raises is logged and does not end the thread."""

    def __init__(self, idle: Callable[[], None] | None = None, idle_s: float = IDLE_S) -> None:
        self._idle = idle
        self._idle_s = idle_s
        self._jobs: deque[Job] = deque()
        self._ready = threading.Condition()
        self._current: Job | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._loop, name="engine", daemon=True)
        self._thread.start()

    def submit(self, owner: str, run: Callable[[], None]) -> None:
        """Add a job to the end of the line. Raises `RuntimeError` after `close`."""
        with self._ready:
            if self._closing:
                raise RuntimeError("The worker is closed.")
            self._jobs.append(Job(owner, run))
            self._ready.notify()

    def withdraw(self, owner: str) -> Callable[[], None] | None:
        """Take the first waiting job of `owner` out of the line and return it; None when there is none."""
        with self._ready:
            for job in self._jobs:
                if job.owner == owner:
                    self._jobs.remove(job)
                    return job.run
        return None

    def ahead(self, owner: str) -> int:
        """How many jobs of others stand before the first waiting job of `owner`; 0 when it runs or has none."""
        with self._ready:
            owners = [job.owner for job in self._jobs]
            if owner not in owners:
                return 0
            return owners.index(owner) + (self._current is not None)

    def close(self, timeout: float = 10.0) -> None:
        """Drop the waiting jobs, let the running one end, and stop the thread."""
        with self._ready:
            self._closing = True
            self._jobs.clear()
            self._ready.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def _loop(self) -> None:
        while True:
            job = self._next()
            if job is None:
                return
            try:
                job.run()
            except Exception:
                log.exception("a job of the engine worker failed")
            finally:
                self._current = None

    def _next(self) -> Job | None:
        while True:
            with self._ready:
                if not self._jobs and not self._closing:
                    self._ready.wait(self._idle_s)
                if self._closing:
                    return None
                if self._jobs:
                    self._current = self._jobs.popleft()
                    return self._current
            if self._idle is not None:
                try:
                    self._idle()
                except Exception:
                    log.exception("the worker's idle call failed")
