"""A signal that asks the program to end: the first one is heeded with care, the next one at once."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDS = (signal.SIGINT, signal.SIGTERM)
"""From a keyboard; from whatever keeps programs running: a container, a service manager, a host put to sleep."""
LOOK_S = 0.2


class Ending:
    """Whether one of these signals has come."""

    def __init__(self) -> None:
        self.asked = False

    def wait(self) -> None:
        """Block until it has."""
        while not self.asked:
            time.sleep(LOOK_S)


@contextmanager
def ending_with_care() -> Iterator[Ending]:
    """Inside, the first of these signals is only noted, so that answers can be kept, and a second one ends the program
    there and then. Only for the main thread."""
    ending = Ending()

    # No exception: raised in the middle of whatever runs, of an import for one, it may be caught there and lost.
    def ask(number: int, frame: FrameType | None) -> None:
        for each in ENDS:
            signal.signal(each, signal.SIG_DFL)
        ending.asked = True

    before = {each: signal.signal(each, ask) for each in ENDS}
    try:
        yield ending
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
