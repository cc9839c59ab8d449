"""Work that nobody waits for: one thing after the other, on a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

log = logging.getLogger(__name__)


class Behind:
    """The thread begins with the first thing to do. What raises is logged and ends only itself."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._ends = threading.Event()

    def do(self, work: Callable[[], None]) -> None:
        """Do it soon; not at all once closed."""

        def run() -> None:
            try:
                work()
            except Exception:
                log.exception("something that was to be done behind failed")

        with suppress(RuntimeError):
            self._pool.submit(run)

    def rest(self, seconds: float) -> None:
        """For the work itself: let others have the interpreter for a while, except at the end."""
        self._ends.wait(seconds)

    def settle(self, timeout: float = 10.0) -> None:
        """Wait for what was begun before; in seconds, at most."""
        with suppress(RuntimeError, TimeoutError):
            self._pool.submit(lambda: None).result(timeout)

    def close(self) -> None:
        """Do what there is to do, without rests, and end. Harmless when closed."""
        self._ends.set()
        self._pool.shutdown()
