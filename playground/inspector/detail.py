"""One round as the page shows it: its tokens in order, each with its fate, its test, its rivals and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import events as ev
from engine.trace import RICH
from playground.inspector.chances import row_at
from playground.inspector.find import Round
from playground.inspector.words import Fate, Speaker
from playground.names import public_name
from playground.panels.token_text import TokenTexts
from playground.step_words import LEVELS

OLD = f"Only the newest {RICH:,} rounds that recorded alternatives keep them; this one is older."
OFF = "This round was decoded without recording alternatives."
NO_CHANCES = "The drafter {drafter} proposes tokens without probabilities."


def round_detail(found: Round, texts: TokenTexts) -> dict[str, Any]:
    """JSON-ready, all numbers as the session counts them; `columns` has drafts 1, 2, ... and then the trunk's own."""
    event, drafter = found.event, public_name(found.event.drafter)
    speaker = Speaker(event, texts)
    columns = [_draft(event, place, speaker) for place in range(len(event.drafted))]
    if event.bonus is not None:
        columns.append(_own(event, event.bonus, speaker))
    return {
        "mode": event.mode,
        "drafter": drafter,
        "pos": event.pos,
        "width": event.width,
        "graphed": event.graphed,
        "ms": [round(ms, 2) for ms in (event.draft_ms, event.verify_ms, event.accept_ms, event.host_ms)],
        "counters": [event.sctr, event.draws, event.uctr, len(event.test_u)],
        "pending": [event.pending, texts(event.pending)],
        "accepted": event.accepted,
        "emitted": event.emitted,
        "recorded": bool(event.trunk_top),
        "missing": "" if event.trunk_top else (OLD if found.newer >= RICH else OFF),
        "silent": NO_CHANCES.format(drafter=public_name(event.drafter))
        if event.drafted and not event.draft_top
        else "",
        "says": {level: speaker.round(level) for level in LEVELS},
        "columns": columns,
    }


def draft_fate(event: ev.RoundEvent, place: int) -> Fate:
    """What became of draft number `place`, counted from 0."""
    if place < event.accepted:
        return "trimmed" if place >= event.emitted else "accepted"
    if event.bonus is None:
        return "after-stop"
    return "rejected" if place == event.accepted else "unread"


def _draft(event: ev.RoundEvent, place: int, speaker: Speaker) -> dict[str, Any]:
    fate = draft_fate(event, place)
    row = {} if fate in ("unread", "after-stop") else {"trunk": _named(row_at(event.trunk_top, place), speaker.texts)}
    return (
        _token(event.drafted[place], fate, speaker)
        | row
        | {
            "draft": _named(row_at(event.draft_top, place), speaker.texts),
            "test": _test(event, place, fate, speaker.texts),
            "says": {level: speaker.draft(place, fate, level) for level in LEVELS},
        }
    )


def _own(event: ev.RoundEvent, token: int, speaker: Speaker) -> dict[str, Any]:
    fate: Fate = "correction" if event.correction else "bonus" if event.drafted else "plain"
    return _token(token, fate, speaker) | {
        "trunk": _named(row_at(event.trunk_top, event.accepted), speaker.texts),
        "kept": event.emitted > event.accepted,
        "test": _test(event, event.accepted, "rejected", speaker.texts) if fate == "correction" else None,
        "says": {level: speaker.own(fate, level) for level in LEVELS},
    }


def _token(token: int, fate: Fate, speaker: Speaker) -> dict[str, Any]:
    return {"id": token, "text": speaker.texts(token), "fate": fate, "kept": fate == "accepted"}


def _test(event: ev.RoundEvent, place: int, fate: Fate, texts: TokenTexts) -> dict[str, Any] | None:
    """What the draft was held against; None where no test was made."""
    if fate in ("unread", "after-stop"):
        return None
    passed = fate != "rejected"
    if event.mode == "rejection":
        if place >= len(event.test_u):
            return None
        p, q, u = event.test_p[place], event.test_q[place], event.test_u[place]
        return {"kind": "chance", "p": p, "q": q, "u": u, "passed": passed}
    draft, choice = event.drafted[place], event.drafted[place] if passed else event.bonus
    assert choice is not None
    kind = "argmax" if event.mode == "greedy" else "noise"
    return {"kind": kind, "draft": [draft, texts(draft)], "choice": [choice, texts(choice)], "passed": passed}


def _named(row: Sequence[tuple[int, float]], texts: TokenTexts) -> list[list[Any]]:
    """`[id, text, probability]` of each alternative."""
    return [[token, texts(token), chance] for token, chance in row]
