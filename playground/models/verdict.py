"""Does speculation pay in this conversation? One sentence from the latest rounds of its trace.

    speed-up = tokens per round x plain step / round        (`playground.race.cost_model`)

A round without drafts is a plain step: the drafter found nothing to propose, or was switched off. The median of such
rounds is the time of one; without any, only a drafter whose guesses are never kept can be judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from engine.events import DrafterEvent, Event, RoundEvent
from playground.names import drafter_label, public_name
from playground.race.cost_model import CostModel, median_round_ms

Badge = Literal["off", "losing", "even", "helping", "unknown"]
ENOUGH = 8
"""Rounds of a drafter, or plain steps, from which there is something to say."""
WINDOW = 64
"""Latest rounds that count: a conversation changes its subject."""
EVEN = 0.05
"""Relative distance from 1 that is called even; medians of so few rounds are no finer."""


@dataclass(frozen=True)
class SpeedVerdict:
    """`speed_up` is against plain decoding; None while it is not known."""

    badge: Badge
    sentence: str
    speed_up: float | None = None


def speed_verdict(
    drafter: str, events: Iterable[Event], plain_ms: float | None = None, draft_len: int | None = None
) -> SpeedVerdict:
    """Judge the conversation's drafter by its trace, oldest event first.

    `draft_len` is the present K, where it is known. `plain_ms` is the median plain step measured elsewhere on this
    engine, used where the trace has too few.
    """
    if drafter == "none":
        return SpeedVerdict("off", "No drafter is chosen, so every step is plain decoding.")
    if draft_len == 0:
        return SpeedVerdict("off", "The draft length K is 0, so nothing is guessed and every step is plain decoding.")
    own, empty, limit = _read(drafter, events)
    if limit:
        return SpeedVerdict("off", f"The drafter has stopped: {limit[:1].lower()}{limit[1:]}")
    rounds = own[-WINDOW:]
    drafting = [event for event in rounds if event.drafted]
    name = drafter_label(public_name(drafter))
    if not rounds:
        return SpeedVerdict("unknown", f"No round has run with {name} yet; this is judged after the first answer.")
    if len(rounds) < ENOUGH:
        return SpeedVerdict("unknown", f"{len(rounds)} rounds with {name} are too few to judge; go on for a little.")
    if not drafting:
        return SpeedVerdict(
            "even", f"The last {len(rounds)} rounds found nothing to guess, so each was as fast as a plain step.", 1.0
        )
    plain = _median_plain(empty) or plain_ms
    return _judged(rounds, drafting, plain) if plain else _without_plain_step(rounds, drafting)


def _read(drafter: str, events: Iterable[Event]) -> tuple[list[RoundEvent], list[RoundEvent], str]:
    """The drafter's rounds, the rounds of any drafter without drafts, and why it has stopped or ''."""
    own: list[RoundEvent] = []
    empty: list[RoundEvent] = []
    limit = ""
    for event in events:
        if isinstance(event, DrafterEvent):
            limit = event.why if event.action == "limit" and event.drafter == drafter else ""
        elif isinstance(event, RoundEvent):
            if event.drafted:
                limit = ""  # it went on after a rewind
            else:
                empty.append(event)
            if event.drafter == drafter:
                own.append(event)
    return own, empty, limit


def _median_plain(empty: Sequence[RoundEvent]) -> float | None:
    """Milliseconds of a plain step: what was spent on looking for drafts is none of it."""
    recent = empty[-WINDOW:]
    if len(recent) < ENOUGH:
        return None
    return median(event.verify_ms + event.accept_ms + event.host_ms for event in recent) or None


def _judged(rounds: Sequence[RoundEvent], drafting: Sequence[RoundEvent], plain: float) -> SpeedVerdict:
    found_nothing = [event for event in rounds if not event.drafted]
    groups = [(len(group), median_round_ms(group)) for group in (drafting, found_nothing) if group]
    time = sum(count * (ms or 0.0) for count, ms in groups) / len(rounds)
    if not time:
        return SpeedVerdict("unknown", "This machine's clock is too coarse to time the rounds.")
    tokens = sum(event.emitted for event in rounds) / len(rounds)
    model = CostModel(tokens_per_round=tokens, plain_step_ms=plain, round_ms=time)
    gain = model.by_medians
    if gain < 1 - EVEN:
        return SpeedVerdict("losing", f"Plain decoding would be {1 / gain:.2f}× as fast: {model.reason()}", gain)
    if gain > 1 + EVEN:
        return SpeedVerdict("helping", f"{gain:.2f}× as fast as plain decoding: {model.reason()}", gain)
    return SpeedVerdict("even", f"About as fast as plain decoding: {model.reason()}", gain)


def _without_plain_step(rounds: Sequence[RoundEvent], drafting: Sequence[RoundEvent]) -> SpeedVerdict:
    drafts = sum(len(event.drafted) for event in drafting)
    if not any(event.accepted for event in drafting):
        return SpeedVerdict("losing", f"None of the last {drafts} guesses was kept, so guessing only costs time.")
    tokens = sum(event.emitted for event in rounds) / len(rounds)
    return SpeedVerdict(
        "unknown",
        f"{tokens:.2f} tokens a round; whether that pays shows once plain steps are timed: try a race, or the drafter "
        "None for a while.",
    )
