"""The open replays of a server: bounded in number and size, each with a lease that its page renews."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine import events as ev
from playground.exchange.replay import record
from playground.exchange.trace_file import trace_of, unpacked
from playground.limits import Refused
from playground.panels import PanelFeed
from playground.replay.player import Player

TTL_S = 180.0
"""Kept for so long after its page last asked, in seconds; a page asks at least once a minute."""
QUIET_S = 90.0
"""One that nobody asked for in so long makes room for a new one."""
MOST = 12
MOST_OF_ONE = 3
"""Open replays of one visitor."""
MOST_BYTES = 160 * 2**20
"""Of all open traces, unpacked."""
FULL = "This server shows as many traces as it has room for; close another one or try again in a minute."


@dataclass
class Lease:
    """An open replay."""

    owner: str
    size: int
    player: Player
    touched: float


class Replays:
    """Thread-safe. A replay belongs to the visitor who opened it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._open: dict[str, Lease] = {}
        self._timer: threading.Timer | None = None

    def open(self, owner: str, data: bytes) -> tuple[str, Player]:
        """Read a file and open it at its end. Raises `ExchangeError` for what is no trace, `Refused` without room."""
        with self._reading:  # one at a time: reading takes a core, and memory
            plain = unpacked(data)
            self._make_room(owner, len(plain))
            name = secrets.token_hex(16)
            player = Player(name, record(*trace_of(plain)))
            with self._lock:
                self._open[name] = Lease(owner, len(plain), player, self._clock())
        self._wake_later()
        return name, player

    def get(self, owner: str, name: object) -> Player | None:
        """A visitor's replay, whose lease begins anew; None for one that is over."""
        self.sweep()
        with self._lock:
            lease = self._open.get(name) if isinstance(name, str) else None
            if lease is None or lease.owner != owner:
                return None
            lease.touched = self._clock()
            return lease.player

    def shown(self, name: object) -> tuple[PanelFeed, Sequence[ev.Event]] | None:
        """What a replay shows now, for who knows its id: that is the right to look. None for one that is over."""
        with self._lock:
            lease = self._open.get(name) if isinstance(name, str) else None
        return None if lease is None else lease.player.shown

    def close(self, owner: str, name: object) -> None:
        """End one. Harmless when it is over."""
        with self._lock:
            if isinstance(name, str) and name in self._open and self._open[name].owner == owner:
                del self._open[name]

    def sweep(self) -> int:
        """Drop those whose lease ended. Returns how many."""
        with self._lock:
            now = self._clock()
            ended = [name for name, lease in self._open.items() if now - lease.touched > TTL_S]
            for name in ended:
                del self._open[name]
            return len(ended)

    def __len__(self) -> int:
        return len(self._open)

    def _make_room(self, owner: str, size: int) -> None:
        self.sweep()
        with self._lock:
            own = [name for name, lease in self._open.items() if lease.owner == owner]
            for name in own[: max(0, len(own) - MOST_OF_ONE + 1)]:
                del self._open[name]
            now = self._clock()
            quiet = sorted((lease.touched, name) for name, lease in self._open.items())
            for touched, name in quiet:
                if self._fits(size) or now - touched < QUIET_S:
                    break
                del self._open[name]
            if not self._fits(size):
                raise Refused(FULL)

    def _fits(self, size: int) -> bool:
        return len(self._open) < MOST and size + sum(lease.size for lease in self._open.values()) <= MOST_BYTES

    def _wake_later(self) -> None:
        """Memory is given back even if no page asks for anything any more."""
        with self._lock:
            if self._timer is not None and self._timer.is_alive():
                return
            self._timer = threading.Timer(TTL_S + 1, self._wake)
            self._timer.daemon = True
            self._timer.start()

    def _wake(self) -> None:
        self.sweep()
        self._timer = None
        if self._open:
            self._wake_later()
