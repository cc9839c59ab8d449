"""What a visitor asks of a race, checked before any work: each refusal is one sentence."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Literal, get_args

from engine import SamplingParams
from engine.errors import EngineError
from playground.limits import Refused, check_message, check_number
from playground.names import offered
from playground.race.decoder import Choosing
from playground.sampling_labels import in_labels
from playground.settings import Settings

LEAST_NEW, MOST_NEW = 8, 1024
FIRST_NEW = 128
LARGEST_SEED = 2**53 - 1
"""A page's numbers are exact up to here."""
How = Literal["greedy", "coupled", "rejection"]


@dataclass(frozen=True)
class RaceOptions:
    """One race. `drafter` is the engine's name for it."""

    prompt: str
    drafter: str
    draft_len: int
    max_new: int = FIRST_NEW
    choosing: Choosing = field(default_factory=Choosing)


def check_race(
    prompt: object,
    drafter: object,
    draft_len: object,
    max_new: object,
    how: object,
    temperature: object,
    top_k: object,
    top_p: object,
    seed: object,
    *,
    settings: Settings,
) -> RaceOptions:
    """Settings as they came from a page. Raises `Refused` for the first that is out of range."""
    known = offered(settings)
    if not isinstance(drafter, str) or drafter not in known:
        raise Refused(f"Drafter must be one of {', '.join(known)}; others are chosen when the app is started.")
    if how not in get_args(How):
        raise Refused("Tokens are chosen greedy, coupled or rejection.")
    return RaceOptions(
        prompt=check_message(prompt),
        drafter=known[drafter],
        draft_len=check_number("Draft length K", draft_len, 0, settings.max_draft_len),
        max_new=check_number("New tokens", max_new, LEAST_NEW, MOST_NEW),
        choosing=_choosing(how, temperature, top_k, top_p, seed),
    )


def _choosing(how: object, temperature: object, top_k: object, top_p: object, seed: object) -> Choosing:
    if how == "greedy":
        return Choosing()
    # Without a seed the two sessions would each draw their own; then nothing of the two could be compared.
    drawn = secrets.randbits(32) if seed in (None, "") else check_number("Seed", seed, 0, LARGEST_SEED)
    try:
        sampling = SamplingParams(
            temperature=_real("Temperature", temperature),
            top_k=check_number("Top-k", top_k, 0, 2**31 - 1),
            top_p=_real("Top-p", top_p),
            seed=drawn,
        )
    except EngineError as error:
        raise Refused(in_labels(str(error))) from None
    return Choosing(sampling, "rejection" if how == "rejection" else "coupled")


def _real(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused(f"{name} must be a number.")
    return float(value)
