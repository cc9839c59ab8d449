"""A drafter's cost model in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from playground.names import drafter_label
from playground.sweep.forecast import Forecast


def words(drafter: str, model: Forecast, lengths: Sequence[int]) -> str:
    """Its three numbers, and the K from 1 to the longest measured that it holds best."""
    longest = max(lengths)
    best = model.best(longest)
    gain = model.speed_up(best)
    found = f"best from 1 to {longest} would be K = {best}, {gain:.2f}×" if gain > 1 else "no K would pay"
    return (
        f"{drafter_label(drafter)}: {model.share:.0%} of rounds have drafts, a draft is kept with chance "
        f"{model.keep:.2f} where those before it were, a round takes {model.base_ms:.1f} ms "
        f"{'+' if model.draft_ms >= 0 else '−'} {abs(model.draft_ms):.2f} ms a draft; {found}."
    )
