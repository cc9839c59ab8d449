"""Where the random numbers went: both counters round by round, what drew outside the rounds, and every accept test.

Greedy rounds use none and say nothing here, so a greedy session costs no byte. The rows of a sampled one:

    [x, sctr, used, uctr, tests]     of round x; `tests` is p, q, u of each draft tested, one after the other
    [x, sctr, cause]                 a draw outside rounds; x lies between two rounds
    [x, "rule", mode, seed, on]      how tokens are chosen from here on; `seed` is text, for a browser's numbers are too
                                     short for it, and `on` has the settings that are not off
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from engine import events as ev
from engine.sampling import SamplingParams
from playground.panels.timeline import FILL_AT, TURN_AT

KEPT = 2000
"""Rows a resync sends; the counters themselves say how much was used before."""
DETAILED = 400
"""Of them, those that still have their tests; of older ones their number is left."""
OFF = dict(SamplingParams().as_settings())
DIGITS = (4, 8)


class DrawsModel:
    """Reduces events to rows; `take` hands out what is new."""

    def __init__(self, before: DrawsModel | None = None) -> None:
        """`before`: that of the page of history before a clear, which its rule outlives."""
        self._rule: list[Any] | None = None if before is None else before.rule
        """In force before the first row kept."""
        self._rows: deque[list[Any]] = deque()
        self._new: list[list[Any]] = [] if self._rule is None else [self._rule]
        self._next = 0

    @property
    def rule(self) -> list[Any] | None:
        """The row of the rule in force now, as one from the beginning; None before there was one."""
        last = next((row for row in reversed(self._rows) if row[1] == "rule"), self._rule)
        return None if last is None else [-1, *last[1:]]

    def add(self, event: ev.Event) -> None:
        """Take one event; kinds that draw nothing are ignored."""
        match event:
            case ev.RoundEvent():
                self._next = event.round + 1
                if event.mode != "greedy":
                    tests = [number for test in _tests(event) for number in test]
                    self._push([event.round, event.sctr, event.draws, event.uctr, tests])
            case ev.DrawEvent():
                self._push([self._between(FILL_AT), event.sctr, event.cause])
            case ev.SamplingEvent():
                seed = None if event.seed is None else str(event.seed)
                on = {name: value for name, value in event.settings if OFF.get(name) != value or name == "temperature"}
                self._push([self._between(TURN_AT), "rule", event.mode, seed, on])

    def take(self) -> list[list[Any]]:
        """Rows added since the last call."""
        new, self._new = self._new, []
        return new

    def all(self) -> list[list[Any]]:
        """Rows kept, oldest first."""
        old = len(self._rows) - DETAILED
        rows = [_packed(row) if place < old else row for place, row in enumerate(self._rows)]
        return rows if self._rule is None else [self._rule, *rows]

    def _between(self, at: float) -> float:
        return round(self._next - 1 + at, 1)

    def _push(self, row: list[Any]) -> None:
        self._rows.append(row)
        self._new.append(row)
        if len(self._rows) > KEPT:
            gone = self._rows.popleft()
            self._rule = gone if gone[1] == "rule" else self._rule


def _packed(row: list[Any]) -> list[Any]:
    return row if len(row) < 5 or row[1] == "rule" else [*row[:4], len(row[4]) // 3]


def _tests(event: ev.RoundEvent) -> Iterator[list[float]]:
    """Each test in as few digits as still say what came of it: u * q < p, or not."""
    for test in zip(event.test_p, event.test_q, event.test_u, strict=True):
        shorts = ([float(f"{number:.{digits}g}") for number in test] for digits in DIGITS)
        yield next((short for short in shorts if _passed(*short) == _passed(*test)), list(test))


def _passed(p: float, q: float, u: float) -> bool:
    return u * q < p
