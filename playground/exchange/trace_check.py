"""The rules that a foreign trace must keep beyond the types of its fields, so that no panel trips over it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from engine import events as ev
from playground.exchange.errors import ExchangeError
from playground.exchange.token_ids import ids_of
from playground.store.checks import LARGEST_ID

LONGEST_TEXT = 100_000
LONGEST_LIST = 4_096
MOST_DRAFTS = 256
"""Of one round."""
LARGEST_NUMBER = 2**53
"""A page's numbers are exact up to here."""
LARGEST_SEED = 2**64 - 1


def check_events(events: Iterable[ev.Event], first_line: int = 2) -> None:
    """Raise `ExchangeError`, naming the line, for the first event that no session could have appended."""
    seq = round_ = -1
    for line, event in enumerate(events, start=first_line):
        if event.seq <= seq:
            raise _wrong(line, "is out of order: its seq must be larger than the one before")
        seq = event.seq
        if not 0 <= event.t < LARGEST_NUMBER:
            raise _wrong(line, "has a time that is none")
        if not all(_bounded(getattr(event, field.name), field.name) for field in dataclasses.fields(event)):
            raise _wrong(line, "has a number, a text or a list that is too large")
        if any(not 0 <= token <= LARGEST_ID for token in ids_of(event)):
            raise _wrong(line, "names a token that is none")
        if isinstance(event, ev.RoundEvent):
            if event.round <= round_:
                raise _wrong(line, "is out of order: its round must be later than the one before")
            round_ = event.round
            if not _adds_up(event):
                raise _wrong(line, "does not add up: its accepted, emitted and drafted tokens disagree")


def _adds_up(event: ev.RoundEvent) -> bool:
    own = event.bonus is not None
    return (
        0 <= event.accepted <= len(event.drafted) <= MOST_DRAFTS
        and event.emitted >= 0
        and event.emitted + len(event.trimmed) == event.accepted + own
        and len(event.trunk_top) <= len(event.drafted) + 1
        and len(event.draft_top) <= len(event.drafted)
        and max(len(event.test_p), len(event.test_q), len(event.test_u)) <= len(event.drafted)
    )


def _bounded(value: object, name: str) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT
    if isinstance(value, float):
        return math.isfinite(value) and abs(value) <= LARGEST_NUMBER
    if isinstance(value, int):
        return -1 <= value <= (LARGEST_SEED if name == "seed" else LARGEST_NUMBER)
    if isinstance(value, tuple):
        return len(value) <= LONGEST_LIST and all(_bounded(item, name) for item in value)
    return value is None


def _wrong(line: int, what: str) -> ExchangeError:
    return ExchangeError(f"The event in line {line} of the trace {what}; the file is damaged or not a trace.")
