"""Who races: one race at a time for a visitor, and the latest one kept for a page that comes back."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from engine.errors import EngineError
from playground.limits import Refused
from playground.race.decoder import Decoder, EngineDecoder
from playground.race.options import RaceOptions
from playground.race.race import Race
from playground.worker import Wait

if TYPE_CHECKING:
    from engine import Engine
    from playground.service import Service

KEPT = 100
"""Visitors whose latest race is kept; the oldest ended one makes room."""
BUSY = "Your race is still running; wait for its end or press Stop."
FULL = "This server runs as many races as it keeps; try again in a moment."


class Races:
    """Thread-safe. `sid` is the visitor's session id, checked by whoever calls."""

    def __init__(self, service: Service, decoder: Decoder | None = None) -> None:
        self._service = service
        self._decoder = decoder or EngineDecoder()
        self._latest: OrderedDict[str, Race] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def start(self, sid: str, options: RaceOptions) -> Race:
        """Put a race into the worker's line. Raises `Refused` while another one of this visitor runs."""
        worker = self._service.worker
        with self._lock:
            former = self._latest.get(sid)
            if former is not None and not former.ended:
                raise Refused(BUSY)
            self._make_room()
            race = Race(next(self._numbers), options, self._engine, self._decoder, worker.give_way)
            try:
                worker.submit(_owner(race), race.run, stop=race.stop)
            except RuntimeError:
                raise Refused("The app is being shut down; start it again to race.") from None
            self._latest[sid] = race
            self._latest.move_to_end(sid)
        return race

    def stop(self, sid: str) -> None:
        """End this visitor's race; one that still waits ends at once. Harmless when there is none."""
        race = self._latest.get(sid)
        if race is not None and not race.ended:
            race.stop()
            self._service.worker.end_soon(_owner(race))

    def latest(self, sid: str) -> Race | None:
        """This visitor's latest race."""
        return self._latest.get(sid)

    def wait_of(self, race: Race) -> Wait:
        """Where one stands that waits."""
        return self._service.worker.wait_of(_owner(race))

    def close(self) -> None:
        """Stop every race; called before the worker is closed."""
        for sid in list(self._latest):
            self.stop(sid)

    def _engine(self) -> Engine:
        if self._service.engine is None:
            raise EngineError(self._service.status.sentence)
        return self._service.engine

    def _make_room(self) -> None:
        while len(self._latest) >= KEPT:
            ended = next((sid for sid, race in self._latest.items() if race.ended), None)
            if ended is None:
                raise Refused(FULL)
            del self._latest[ended]


def _owner(race: Race) -> str:
    return f"race {race.number}"
