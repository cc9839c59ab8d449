"""What a trace means, read anew from what the events and the panels' own words say: no rule is taken from the panels.

Rounds count from 1, as in the page. What happened between two rounds has the number of the one before it, 0 at first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import NamedTuple, TypeVar

from engine import events as ev

E = TypeVar("E", bound=ev.Event)

Z = NormalDist().inv_cdf(0.975)
SMOOTH = 8
"""Rounds behind each point of the speed line, as its hover says."""


def rounds(events: Sequence[ev.Event]) -> list[ev.RoundEvent]:
    return [event for event in events if isinstance(event, ev.RoundEvent)]


@dataclass
class Cell:
    """One token of a round, and what became of it."""

    fate: str
    past: str = ""
    """`overshoot` while it is held past the budget, `dropped` once it was let go."""

    @property
    def name(self) -> str:
        return self.past or self.fate


def fates(events: Sequence[ev.Event]) -> list[list[str]]:
    """A list a round: the fate of each draft, then that of the trunk's own token ('' where a stop left none)."""
    found: list[list[Cell]] = []
    emitted: list[Cell] = []
    for event in events:
        if isinstance(event, ev.RoundEvent):
            cells = [Cell("accepted" if i < event.accepted else "rejected") for i in range(len(event.drafted))]
            if event.bonus is None:
                for cell in cells[event.accepted :]:
                    cell.fate = "after stop"
            own = Cell("" if event.bonus is None else "correction" if event.accepted < len(cells) else "bonus")
            found.append([*cells, own])
            out = [*cells[: event.accepted], *([own] if own.fate else [])]
            for cell in out[len(out) - len(event.trimmed) :]:
                cell.past = "dropped"
            emitted += out[: len(out) - len(event.trimmed)]
        elif isinstance(event, ev.OvershootEvent):
            if event.action == "kept":
                for cell in emitted[-len(event.tokens) :]:
                    cell.past = "overshoot"
            elif event.action in ("shown", "dropped"):
                for cell in (cell for cell in emitted if cell.past == "overshoot"):
                    cell.past = "dropped" if event.action == "dropped" else ""
    return [[cell.name for cell in row] for row in found]


class Positions(NamedTuple):
    """Rounds that drafted; per position, how often a draft was reached there, and how often it was accepted."""

    drafting: int
    reached: list[int]
    accepted: list[int]


def positions(of: Sequence[ev.RoundEvent]) -> Positions:
    places = range(max(len(event.drafted) for event in of))
    reached = [sum(len(event.drafted) > i and event.accepted >= i for event in of) for i in places]
    return Positions(
        sum(bool(event.drafted) for event in of), reached, [sum(e.accepted > i for e in of) for i in places]
    )


def wilson(k: int, n: int) -> tuple[float, float]:
    """Both ends of the 95% interval: the roots of (p - k/n)^2 = z^2 p (1 - p) / n."""
    middle, spread = (k + Z * Z / 2) / (n + Z * Z), Z / (n + Z * Z) * math.sqrt(k * (n - k) / n + Z * Z / 4)
    return middle - spread, middle + spread


class Step(NamedTuple):
    """The committed length after something."""

    after: int
    is_round: bool
    length: int


def lengths(events: Sequence[ev.Event]) -> list[Step]:
    """After each round, prefill, flush and rewind; and after a burst whose prefill was undone."""
    out, after, length = [], 0, 0
    for event in events:
        match event:
            case ev.RoundEvent():
                after, length = after + 1, event.pos + 1 + event.accepted - (event.bonus is None)
                length = event.pos + 1 + event.emitted if event.trimmed else length
            case ev.PrefillEvent(cause="turn"):
                length = event.pos + event.tokens
            case ev.FlushEvent():
                length = event.pos + 1
            case ev.RewindEvent():
                length = event.to
            case ev.BurstEvent() if event.committed != length:
                length = event.committed
            case _:
                continue
        out.append(Step(after, isinstance(event, ev.RoundEvent), length))
    return out


def between(events: Sequence[ev.Event], kind: type[E]) -> list[tuple[int, E]]:
    """Events of a kind, each with the round before it."""
    out: list[tuple[int, E]] = []
    after = 0
    for event in events:
        after += isinstance(event, ev.RoundEvent)
        if isinstance(event, kind):
            out.append((after, event))
    return out


def past_budget(events: Sequence[ev.Event]) -> list[tuple[int, int, str]]:
    """Round, tokens, action: what passed a burst's budget, whatever became of it then; and what was trimmed."""
    return [
        (len(rounds(events[:place])), len(event.tokens), event.action)
        for place, event in enumerate(events)
        if isinstance(event, ev.OvershootEvent) and event.action in ("kept", "trimmed")
    ]


def sources(events: Sequence[ev.Event]) -> list[str]:
    """Where each round's column 0 came from."""
    places: dict[tuple[int, int], str] = {}
    for event in events:
        match event:
            case ev.PrefillEvent(first=int()):
                places[event.burst, event.pos + event.tokens] = "a prefill"
            case ev.PendingEvent(transition="consume"):
                places[event.burst, event.pos] = "the burst before (carried)"
            case ev.PendingEvent(transition="promote"):
                places[event.burst, event.pos] = "a stored prediction (promoted)"
    return [places.get((event.burst, event.pos), "the round before") for event in rounds(events)]


@dataclass
class Machine:
    """The state after each round, and every move made."""

    now: str = "FRESH"
    left: list[str] = field(default_factory=list)
    moves: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def go(self, move: str, to: str) -> None:
        self.moves[self.now, move, to] += 1
        self.now = to


def machine(events: Sequence[ev.Event]) -> Machine:
    found, let_go, opening = Machine(), False, False
    for event in events:
        match event:
            case ev.RoundEvent():
                found.go("trim" if event.trimmed else "round", "PREDICTED" if event.trimmed else "PENDING")
                found.left.append(found.now)
                opening = False
            case ev.TurnEvent():
                opening = True
            case ev.PrefillEvent(first=int()) if found.now != "PENDING":
                found.go("turn", "PENDING")
            case ev.PendingEvent(transition="drop"):
                let_go = True
            case ev.PendingEvent(transition="consume"):
                found.moves["PENDING", "consume", "PENDING"] += 1
            case ev.PendingEvent():
                opening |= event.transition == "promote"
                found.go(event.transition, event.state)
            case ev.RewindEvent():
                to = {"unpark": "PENDING", "prime": "FRESH"}.get(event.cause, "PREDICTED")
                found.go("drop" if let_go else "unpark" if event.cause == "unpark" else "rewind", to)
                let_go = False
        if found.left and not opening:
            found.left[-1] = found.now
    return found


def opened(events: Sequence[ev.Event]) -> list[tuple[int, ev.PendingEvent]]:
    """Transitions, each with its round: the one that it opens, else the one before it."""
    at = {(event.burst, event.pos): number for number, event in enumerate(rounds(events), start=1)}
    out = []
    for after, event in between(events, ev.PendingEvent):
        opens = event.transition in ("consume", "promote") or event.via == "prefill"
        out.append((at.get((event.burst, event.pos), after + 1) if opens else max(1, after), event))
    return out


def milliseconds(event: ev.RoundEvent) -> list[float]:
    return [event.draft_ms, event.verify_ms, event.accept_ms, event.host_ms]


def speeds(of: Sequence[ev.RoundEvent]) -> list[float]:
    """Tokens emitted a second, over the last rounds up to each."""
    windows = [of[max(0, i + 1 - SMOOTH) : i + 1] for i in range(len(of))]
    return [1000 * sum(e.emitted for e in w) / sum(sum(milliseconds(e)) for e in w) for w in windows]


class Use(NamedTuple):
    """What a round, or a draw between rounds, used: the session's counters before it, and how many of each."""

    after: int
    is_round: bool
    sctr: int
    draws: int
    uctr: int
    tests: int


def uses(events: Sequence[ev.Event]) -> list[Use]:
    out: list[Use] = []
    after = uctr = 0
    for event in events:
        if isinstance(event, ev.RoundEvent):
            after += 1
            if event.mode != "greedy":
                out.append(Use(after, True, event.sctr, event.draws, event.uctr, len(event.test_u)))
                uctr = event.uctr + len(event.test_u)
        elif isinstance(event, ev.DrawEvent):
            out.append(Use(after, False, event.sctr, 1, uctr, 0))
    return out
