"""The bounded trace of one session: typed events in order, exported as JSON Lines and loaded back.

Line 1 of an export is a header (schema version, checkpoint, settings, software versions, and the texts of the token
ids where the exporter added them); every later line is one event's `to_dict()`. Unknown kinds or fields make a load
fail with one sentence: a trace is data from elsewhere.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from engine import events as ev
from engine.errors import EngineError

SCHEMA = 1
CAPACITY = 50_000
"""Events kept; older ones are dropped and counted in `Trace.dropped`."""
RICH = 1_000
"""Rounds that keep their alternatives, which are ten times the rest of an event; older ones let them go."""

KINDS: dict[str, type[ev.Event]] = {
    cls.kind: cls
    for cls in vars(ev).values()
    if isinstance(cls, type) and issubclass(cls, ev.Event) and cls is not ev.Event
}

_HINTS = {kind: get_type_hints(cls) for kind, cls in KINDS.items()}

E = TypeVar("E", bound=ev.Event)


@dataclass(frozen=True)
class TraceHeader:
    """What a reader needs to know about where a trace came from."""

    checkpoint: str
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    schema: int = SCHEMA
    pieces: dict[str, str] = field(default_factory=dict)
    """Token id, in decimal, to its text, for a reader without the tokenizer. Left out of an export while empty."""


class Trace:
    """Append-only, bounded, iterable. `append` stamps `seq` and `t`; `since(seq)` serves incremental readers."""

    def __init__(self, header: TraceHeader, capacity: int = CAPACITY) -> None:
        self.header = header
        self._events: deque[ev.Event] = deque(maxlen=capacity)
        self._rich: deque[int] = deque()
        self._next_seq = 0
        self._start = time.perf_counter()

    def append(self, event: E) -> E:
        """Stamp the event with the next `seq` and the session clock, keep it, and return the stamped one."""
        stamped = dataclasses.replace(event, seq=self._next_seq, t=time.perf_counter() - self._start)
        self._keep(stamped)
        return stamped

    @classmethod
    def kept(cls, header: TraceHeader, events: Iterable[ev.Event]) -> Trace:
        """A trace of events that were stamped before, in order; the oldest go where there are too many."""
        trace = cls(header)
        for event in events:
            trace._keep(event)
        return trace

    def go_on(self, header: TraceHeader, next_seq: int = 0) -> None:
        """Append again where the last event stands, under another header: a session takes up what one before it left.

        `next_seq`: the number to go on from if events were lost; then a gap says so.
        """
        self.header = header
        self._next_seq = max(self._next_seq, next_seq)
        self._start = time.perf_counter() - (self._events[-1].t if self._events else 0.0)

    def _keep(self, event: ev.Event) -> None:
        self._next_seq = event.seq + 1
        self._events.append(event)
        if isinstance(event, ev.RoundEvent) and (event.trunk_top or event.draft_top):
            self._rich.append(event.seq)
            if len(self._rich) > RICH:
                self._thin(self._rich.popleft())

    def _thin(self, seq: int) -> None:
        """Let the alternatives of a round go, if it is still kept; its length stays, so readers are not disturbed."""
        place = min(seq - self._events[0].seq, len(self._events) - 1)
        while place > 0 and self._events[place].seq > seq:
            place -= 1  # past a gap
        event = self._events[place] if place >= 0 else None
        if isinstance(event, ev.RoundEvent) and event.seq == seq:
            self._events[place] = dataclasses.replace(event, trunk_top=(), draft_top=())

    def __iter__(self) -> Iterator[ev.Event]:
        return iter(tuple(self._events))

    def __len__(self) -> int:
        return len(self._events)

    @property
    def next_seq(self) -> int:
        """The `seq` the next event will get: the number of events ever appended."""
        return self._next_seq

    @property
    def dropped(self) -> int:
        """Events no longer kept because the trace is bounded."""
        return self._next_seq - len(self._events)

    def since(self, seq: int) -> list[ev.Event]:
        """The kept events whose `seq` is at least `seq`, in order. Safe to call while another thread appends."""
        while True:
            try:  # from the new end, so that a reader that keeps up pays for what is new and not for the whole trace
                newest_first = itertools.takewhile(lambda event: event.seq >= seq, reversed(self._events))
                return list(newest_first)[::-1]
            except RuntimeError:  # another thread appended meanwhile
                continue

    def of(self, kind: type[E]) -> list[E]:
        """The kept events of one class, in order."""
        return [e for e in self if isinstance(e, kind)]

    def export(self) -> Iterator[str]:
        """The lines of a JSON Lines file, header first, without line ends."""
        header = {"kind": "header"} | dataclasses.asdict(self.header)
        if not self.header.pieces:
            del header["pieces"]
        yield json.dumps(header, sort_keys=True)
        for event in self:
            yield json.dumps(event.to_dict(), sort_keys=True)

    @classmethod
    def load(cls, lines: Iterable[str]) -> Trace:
        """Rebuild a trace from `export`'s lines. Raises `EngineError` naming the first line that does not fit."""
        rows = iter(enumerate(lines, start=1))
        try:
            number, first = next(rows)
        except StopIteration:
            raise EngineError("The trace is empty; export it again.") from None
        header = _object(first, number)
        if header.pop("kind", None) != "header" or header.get("schema") != SCHEMA:
            raise EngineError(
                f"Line 1 is not the header of a trace of schema {SCHEMA}; export it again with this version."
            )
        try:
            trace = cls(TraceHeader(**header))
        except TypeError:
            raise EngineError("Line 1 is not a trace header this version knows; export it again.") from None
        for number, line in rows:
            if line.strip():
                trace._keep(_event(_object(line, number), number))
        return trace


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise EngineError(f"Line {number} of the trace is not a JSON object; the file is damaged or not a trace.")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers disagree on which of two equal keys counts, so there may not be two."""
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError
    return out


def _no_number(_: str) -> float:
    raise ValueError  # NaN and the infinities are no JSON, and no reader of ours expects them


def _event(row: dict[str, Any], number: int) -> ev.Event:
    cls = KINDS.get(str(row.pop("kind", None)))
    if cls is None:
        raise EngineError(f"Line {number} of the trace has an event kind this version does not know.")
    row.pop("correction", None)
    hints = _HINTS[cls.kind]
    try:
        fields: dict[str, Any] = {key: _typed(value, hints[key]) for key, value in row.items()}
        return cls(**fields)
    except (TypeError, KeyError):
        raise EngineError(f"Line {number} of the trace does not have the fields of its kind.") from None


@cache
def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(hint), get_args(hint)


def _typed(value: Any, hint: Any) -> Any:
    """`value` as a field of type `hint`, lists as tuples. Raises TypeError when it is of another type."""
    origin, args = _parts(hint)
    if origin is tuple:
        endless = args[-1:] == (Ellipsis,)
        if not isinstance(value, list) or not (endless or len(value) == len(args)):
            raise TypeError
        return tuple(_typed(item, args[0] if endless else args[i]) for i, item in enumerate(value))
    if not _fits(value, hint):
        raise TypeError
    return value


def _fits(value: Any, hint: Any) -> bool:
    origin, args = _parts(hint)
    if origin is Literal:
        return value in args
    if origin in (UnionType, Union):
        return any(_fits(value, arg) for arg in args)
    return type(value) is hint or (hint is float and type(value) is int)
