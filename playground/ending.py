"""A signal that asks the program to end: the first one is heeded with care, the next one at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDS = (signal.SIGINT, signal.SIGTERM)
"""From a keyboard; from whatever keeps programs running: a container, a service manager, a host put to sleep."""


@contextmanager
def ending_with_care() -> Iterator[None]:
    """Inside, the first of these signals raises `KeyboardInterrupt`, so that answers are kept, and a second one ends
    the program there and then. Only for the main thread."""

    def ask(number: int, frame: FrameType | None) -> None:
        for each in ENDS:
            signal.signal(each, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = {each: signal.signal(each, ask) for each in ENDS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
