"""What tokens of a table session must be distributed like, and the verdict on all of them by place."""

from __future__ import annotations

from collections.abc import Iterable

from engine.events import RoundEvent
from tests.engine.sampling.account import Choice
from tests.engine.sampling.closed_form import distribution, residual
from tests.engine.sampling.judge import p_value
from tests.engine.sampling.table_trunk import DRAFT, TRUNK, row_after

PLACES = ("first", "again", "resume", "kept", "edge", "unparked", "column", "bonus")
FEWEST = 60
"""A place with fewer tokens is not judged; every play is long enough for all of them, but for bonuses after long
point-mass drafts."""


def trunk_law(choice: Choice) -> list[float]:
    """The trunk's own distribution after the token's history."""
    return distribution(row_after(TRUNK, choice.history), choice.history, choice.setting.params)


def correction_law(choice: Choice, p: list[float]) -> list[float]:
    """What replaces a rejected draft: the residual of p and q; q is a point mass for drafters without probabilities."""
    assert choice.rejected is not None and isinstance(choice.event, RoundEvent)
    if choice.event.drafter == "table":
        q = distribution(row_after(DRAFT, choice.history), choice.history, choice.setting.params)
    else:
        q = [float(token == choice.rejected) for token in range(len(TRUNK))]
    return residual(p, q)


def verdicts(choices: Iterable[Choice]) -> dict[str, float]:
    """p-values by place; `correction` is what replaced a draft, `later` what followed a draft of the same round."""
    told = [(choice, trunk_law(choice)) for choice in choices]
    found = {place: [(c, law) for c, law in told if c.place == place] for place in PLACES}
    found["later"] = [(c, law) for c, law in told if c.column > 0]
    found["all"] = told
    found["correction"] = [(c, correction_law(c, law)) for c, law in told if c.rejected is not None]
    return {
        place: p_value([choice.token for choice, _ in some], [law for _, law in some])
        for place, some in found.items()
        if len(some) >= FEWEST
    }
