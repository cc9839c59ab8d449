"""A race as a page reads it: what the page has not got of either lane, and once it has ended the outcome."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from playground.names import drafter_label, public_name, short_reference
from playground.race.lane import Lane
from playground.race.race import Race
from playground.race.races import Races
from playground.text import plain as printable
from playground.wait_words import for_the_engine

WORDS = {
    "preparing": "Warming both up with a few tokens that do not count.",
    "done": "The race is over.",
    "stopped": "Stopped; this is what was measured so far.",
}
HOW = {
    "greedy": "greedy",
    "coupled": "sampled, coupled: the same tokens for one seed, whoever drafts",
    "rejection": "sampled, rejection: the same distribution, whoever drafts",
}


def reading_of(races: Races, race: Race, seen: tuple[int, int]) -> dict[str, Any]:
    """JSON-ready. `seen`: how many pieces of each lane the page has."""
    ended, outcome = race.ended, race.outcome  # before the pieces: what comes in between is told next time
    lanes = [_lane(lane, have) for lane, have in zip(race.lanes, seen, strict=True)]
    return {
        "number": race.number,
        "phase": race.phase if ended == race.ended else "racing",
        "ended": ended,
        "says": race.error or WORDS.get(race.phase) or _waiting(races, race),
        "title": _title(race),
        "model": short_reference(race.model),
        "lanes": lanes,
        "outcome": None if outcome is None or not ended else asdict(outcome),
    }


def file_of(race: Race) -> dict[str, Any]:
    """The whole race for a download: settings, tokens with their times, outcome."""
    sampling = race.options.choosing.sampling
    return {
        "draftscope": "race",
        "schema": 1,
        "model": short_reference(race.model),
        "prompt": race.options.prompt,
        "drafter": public_name(race.options.drafter),
        "draft_len": race.options.draft_len,
        "max_new": race.options.max_new,
        "mode": race.options.choosing.mode,
        "sampling": None if sampling is None else asdict(sampling),
        "phase": race.phase,
        "lanes": [
            {"tokens": list(lane.tokens), "seconds": [round(piece.at, 6) for piece in lane.pieces]}
            for lane in race.lanes
        ],
        "outcome": None if race.outcome is None else asdict(race.outcome),
    }


def _lane(lane: Lane, seen: int) -> dict[str, Any]:
    reason = lane.reason
    new = lane.pieces[max(0, seen) :]
    label = drafter_label(public_name(lane.drafter))
    return {
        "name": label if lane.drafter == "none" else f"{label}, K = {lane.draft_len}",
        "from": max(0, seen),
        "new": [[round(piece.at, 4), printable(piece.text), int(piece.draft)] for piece in new],
        "most": lane.max_new,
        "ended": reason is not None,
        "reason": reason,
    }


def _title(race: Race) -> str:
    choosing = race.options.choosing
    how = HOW[choosing.mode]
    if choosing.sampling is not None and choosing.mode != "greedy":
        how += f", seed {choosing.sampling.seed}"
    model = short_reference(race.model)
    return f"{model}, {how}" if model else how


def _waiting(races: Races, race: Race) -> str:
    if race.phase == "racing":
        return "Racing: a burst of the one, a burst of the other, each on its own clock."
    return for_the_engine(races.wait_of(race))
