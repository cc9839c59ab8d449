"""One job at a time touches the engine, and jobs take turns.

A job runs on a thread of its own, but only while it has the engine; where it can stop for a while it may `give_way`:
then it goes to the end of the line, and the next one has the engine. So a short question does not wait for the end of
somebody else's long answer. `due` says when: at the edge of a burst always, and inside one after a slice of time, as
long as there are cache slots for others, for a session in the middle of a burst keeps its own. The page only ever
reads what jobs leave.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from playground.turn_times import Clock, Share, TurnTimes

SLICE_S = 0.25
"""Seconds after which a job gives way inside a burst, so that nobody waits for the end of another's large one."""
IDLE_S = 15.0
"""How often `idle` is called while there is nothing to do, in seconds."""
log = logging.getLogger(__name__)


@dataclass(eq=False)
class Job:
    """One conversation turn, one load, one clean-up. `owner` groups jobs for the waiting line."""

    owner: str
    run: Callable[[], None]
    alone: bool = False
    stop: Callable[[], None] | None = None
    go: threading.Event = field(default_factory=threading.Event)
    """Set while the job has the engine."""
    thread: threading.Thread | None = None
    """None until the job begins."""
    hurried: bool = False
    """Whether it is to end, and so goes before the others for a moment."""
    share: Share = field(default_factory=Share)


class Wait(NamedTuple):
    """Where a job stands that has not begun."""

    ahead: int = 0
    """Jobs before it."""
    seconds: float | None = None
    """Until it begins, as jobs have taken so far; None where that cannot be known."""


class Worker:
    """A line of jobs, first come first served, in turns. A job that raises is logged and ends only itself."""

    def __init__(
        self, idle: Callable[[], None] | None = None, idle_s: float = IDLE_S, clock: Clock = time.monotonic
    ) -> None:
        self._idle = idle
        self._idle_s = idle_s
        self._line: deque[Job] = deque()
        self._away: dict[Job, threading.Event] = {}
        """Jobs that have begun and wait for something else than the engine."""
        self._changed = threading.Condition()
        self._current: Job | None = None
        self._clock = clock
        self._times = TurnTimes(clock)
        self._closing = False
        self._thread = self._started()

    def submit(
        self, owner: str, run: Callable[[], None], *, alone: bool = False, stop: Callable[[], None] | None = None
    ) -> None:
        """Add a job to the end of the line; `alone` begins only once every job that has begun has ended.

        `stop` asks a long job to end soon; `close` calls it, from another thread. Raises `RuntimeError` after `close`.
        """
        with self._changed:
            if self._closing:
                raise RuntimeError("The worker is closed.")
            self._line.append(Job(owner, run, alone, stop))
            self._revive()
            self._changed.notify_all()

    def give_way(self) -> None:
        """Let the others in the line have the engine once each; called by the job that has it. At once if alone."""
        with self._changed:
            job = self._current
            assert job is not None and job.thread is threading.current_thread(), "only the running job gives way"
            self._times.end(job.share)
            if not self._line or job.hurried:
                self._times.begin(job.share)
                return
            job.go.clear()
            self._line.append(job)
            self._current = None
            self._changed.notify_all()
        job.go.wait()

    def leave(self, until: threading.Event) -> None:
        """Leave the line until the event is set, then stand in it again; called by the job that has the engine.

        A job that must be alone, and `close`, set the event: nobody waits for a turn that waits for its visitor.
        """
        with self._changed:
            job = self._current
            assert job is not None and job.thread is threading.current_thread(), "only the running job leaves"
            self._times.end(job.share)
            job.go.clear()
            self._away[job] = until
            self._current = None
            self._changed.notify_all()
        until.wait()
        with self._changed:
            del self._away[job]
            self._line.append(job)
            self._changed.notify_all()
        job.go.wait()

    def due(self, places: int) -> bool:
        """Whether the job that has the engine should `give_way` inside its burst. `places`: sessions that can have
        cache rows at a time; where every one of them is in the middle of a burst, no other could begin."""
        with self._changed:
            job = self._current
            if job is None or not self._line:
                return False
            if self._line[0].hurried:
                return True
            begun = 1 + len(self._away) + sum(other.thread is not None for other in self._line)
            since = job.share.since
            return begun < places and since is not None and self._clock() - since >= SLICE_S

    def end_soon(self, owner: str) -> None:
        """The job of `owner` was told to end. One that has not begun is run here, to find that out at once; one that
        has goes to the front of the line, and out of it no more."""
        waiting = self.withdraw(owner)
        if waiting is not None:
            waiting()
            return
        with self._changed:
            for job in [*self._line, *([] if self._current is None else [self._current])]:
                if job.owner == owner and job.thread is not None:
                    job.hurried = True
                    if job is not self._current:
                        self._line.remove(job)
                        self._line.appendleft(job)
                    return

    def withdraw(self, owner: str) -> Callable[[], None] | None:
        """Take the first job of `owner` that has not begun out of the line and return it; None when there is none."""
        with self._changed:
            for job in self._line:
                if job.owner == owner and job.thread is None:
                    self._line.remove(job)
                    self._changed.notify_all()  # it may have been the one that had to be alone
                    return job.run
        return None

    def wait_of(self, owner: str) -> Wait:
        """Where the first job of `owner` stands that has not begun, and when its turn comes."""
        with self._changed:
            for index, job in enumerate(self._line):
                if job.owner == owner and job.thread is None:
                    return self._wait(index)
        return Wait()

    def _wait(self, index: int) -> Wait:
        before, current = [self._line[at] for at in range(index)], self._current
        ahead = index + (current is not None)
        if any(job.alone for job in [*before, *([] if current is None else [current])]):
            return Wait(ahead)  # a load takes as long as it takes
        shares = [job.share for job in before]
        return Wait(ahead, self._times.until_free(None if current is None else current.share, shares))

    def close(self, timeout: float = 10.0) -> None:
        """Drop the jobs that have not begun, let the others end, and stop."""
        with self._changed:
            self._closing = True
            self._line = deque(job for job in self._line if job.thread is not None)
            begun = [*self._line, *self._away, *([] if self._current is None else [self._current])]
            self._call_back()
            self._changed.notify_all()
        for job in begun:
            if job.stop is not None:
                job.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def _started(self) -> threading.Thread:
        thread = threading.Thread(target=self._loop, name="engine", daemon=True)
        thread.start()
        return thread

    def _revive(self) -> None:
        """The thread that hands out the engine never ends on its own; should it be gone, another takes its place."""
        if self._thread.is_alive():
            return
        log.error("the thread of the engine's line was gone; another one goes on")
        if self._current is not None and self._current.thread is None:
            self._line.appendleft(self._current)
            self._current = None
        self._thread = self._started()

    def _loop(self) -> None:
        while (job := self._next()) is not None:
            if job.thread is None:
                job.thread = threading.Thread(target=self._run, args=(job,), name=f"engine: {job.owner}", daemon=True)
                job.thread.start()
            else:
                job.go.set()
            with self._changed:
                while self._current is job:
                    self._changed.wait()

    def _run(self, job: Job) -> None:
        try:
            job.run()
        except Exception:
            log.exception("a job of the engine worker failed")
        finally:
            with self._changed:
                self._times.end(job.share)
                self._current = None
                self._changed.notify_all()

    def _next(self) -> Job | None:
        """Hand the engine to the next in the line; None when there is no more to come."""
        while True:
            with self._changed:
                if not self._line and not self._closing:
                    self._changed.wait(self._idle_s)
                if (job := self._first()) is not None:
                    self._line.remove(job)
                    self._current = job
                    self._times.begin(job.share)
                    return job
                if self._closing and not self._away:
                    return None
                if self._line or self._closing:
                    self._changed.wait()  # for a job that was called back
                    continue
            if self._idle is not None:
                try:
                    self._idle()
                except Exception:
                    log.exception("the worker's idle call failed")

    def _first(self) -> Job | None:
        """Whose turn it is; None when nobody stands in the line, or only who must wait for a job that is away."""
        if not self._line or not self._line[0].alone:
            return self._line[0] if self._line else None
        begun = [job for job in self._line if job.thread is not None]
        if begun:
            return begun[0]
        self._call_back()
        return None if self._away else self._line[0]

    def _call_back(self) -> None:
        for until in self._away.values():
            until.set()
