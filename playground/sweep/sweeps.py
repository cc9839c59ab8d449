"""Who sweeps: one sweep at a time on this server, and each visitor's latest one kept for a page that comes back."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from engine.errors import EngineError
from playground.limits import Refused
from playground.race.decoder import Decoder, EngineDecoder
from playground.sweep.library import Library
from playground.sweep.options import SweepOptions
from playground.sweep.sweep import Sweep
from playground.worker import Wait

if TYPE_CHECKING:
    from engine import Engine
    from playground.service import Service

KEPT = 100
"""Visitors whose latest sweep is kept; the oldest ended one makes room."""
BUSY = "Your sweep is still running; wait for its end or press Stop."
TAKEN = "Another visitor's sweep is running on this server; try again when it has ended."


class Sweeps:
    """Thread-safe. `sid` is the visitor's session id, checked by whoever calls."""

    def __init__(self, service: Service, library: Library, decoder: Decoder | None = None) -> None:
        self._service = service
        self._library = library
        self._decoder = decoder or EngineDecoder()
        self._latest: OrderedDict[str, Sweep] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def start(self, sid: str, options: SweepOptions) -> Sweep:
        """Put a sweep into the worker's line. Raises `Refused` while one runs: a sweep keeps a machine busy."""
        worker = self._service.worker
        with self._lock:
            for visitor, former in self._latest.items():
                if not former.ended:
                    raise Refused(BUSY if visitor == sid else TAKEN)
            sweep = Sweep(next(self._numbers), options, self._engine, self._decoder, worker.give_way)

            def keep(ended: Sweep) -> None:
                run = ended.run
                ended.kept = "" if run is None else self._library.keep(sid, run)

            try:
                worker.submit(_owner(sweep), lambda: sweep.work(keep), stop=sweep.stop)
            except RuntimeError:
                raise Refused("The app is being shut down; start it again to sweep.") from None
            self._latest[sid] = sweep
            self._latest.move_to_end(sid)
            while len(self._latest) > KEPT:
                self._latest.popitem(last=False)
        return sweep

    def stop(self, sid: str) -> None:
        """End this visitor's sweep; one that still waits ends at once. Harmless when there is none."""
        sweep = self._latest.get(sid)
        if sweep is not None and not sweep.ended:
            sweep.stop()
            self._service.worker.end_soon(_owner(sweep))

    def latest(self, sid: str) -> Sweep | None:
        """This visitor's latest sweep."""
        return self._latest.get(sid)

    def wait_of(self, sweep: Sweep) -> Wait:
        """Where one stands that waits."""
        return self._service.worker.wait_of(_owner(sweep))

    def close(self) -> None:
        """Stop every sweep; called before the worker is closed."""
        for sid in list(self._latest):
            self.stop(sid)

    def _engine(self) -> Engine:
        if self._service.engine is None:
            raise EngineError(self._service.status.sentence)
        return self._service.engine


def _owner(sweep: Sweep) -> str:
    return f"sweep {sweep.number}"
