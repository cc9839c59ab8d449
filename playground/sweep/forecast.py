"""What a cost model of three numbers says of one drafter at any K, also one that was not measured.

    tokens per round(K) = 1 + f · (a + a² + ... + a^K)        (Leviathan et al. 2023, section 3.1, with f = 1)
    round(K)            = base + K · per draft
    speed-up(K)         = tokens per round(K) · plain step / round(K)

`f` is the share of rounds that have drafts, `a` the chance that a draft is kept if those before it were, taken as the
same at every position, and a round's time is a straight line. All three are fitted to the settings that were
measured. To tell whether the model can be believed, `left_out` forecasts every setting from the others alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STEPS = 60
"""Halvings of the interval in which `a` lies: more than a float has bits."""


@dataclass(frozen=True)
class Measured:
    """One drafter at one K, over all its rounds."""

    draft_len: int
    rounds: int
    drafted: int
    accepted: int
    round_ms: float
    """The median round."""


@dataclass(frozen=True)
class Forecast:
    """The fitted model."""

    share: float
    """`f`"""
    keep: float
    """`a`"""
    base_ms: float
    draft_ms: float
    """Milliseconds per draft asked for; below 0 where the clock's noise is larger than a draft's price."""
    plain_step_ms: float

    def tokens_per_round(self, draft_len: int) -> float:
        """The first formula above."""
        return 1 + self.share * _series(self.keep, draft_len)

    def round_ms(self, draft_len: int) -> float:
        """The second."""
        return self.base_ms + draft_len * self.draft_ms

    def speed_up(self, draft_len: int) -> float:
        """The third."""
        return self.tokens_per_round(draft_len) * self.plain_step_ms / self.round_ms(draft_len)

    def best(self, longest: int) -> int:
        """The K from 1 to `longest` of the largest speed-up; the shorter one of equals."""
        return max(range(1, longest + 1), key=lambda k: (self.speed_up(k), -k))


def forecast(cells: Sequence[Measured], plain_step_ms: float) -> Forecast | None:
    """The model of what was measured; None where that is fewer than two K, or where nothing was drafted."""
    cells = [cell for cell in cells if cell.rounds and cell.round_ms > 0]
    drafting = [cell for cell in cells if cell.drafted]
    if len({cell.draft_len for cell in cells}) < 2 or not drafting or plain_step_ms <= 0:
        return None
    share = min(1.0, sum(c.drafted for c in drafting) / sum(c.rounds * c.draft_len for c in drafting))
    base, slope = _line([(cell.draft_len, cell.round_ms, cell.rounds) for cell in cells])
    model = Forecast(share, _keep(drafting, share), base, slope, plain_step_ms)
    return model if all(model.round_ms(cell.draft_len) > 0 for cell in cells) else None


def left_out(cells: Sequence[Measured], plain_step_ms: float) -> dict[int, float]:
    """K to the speed-up that the other settings forecast for it, where they can."""
    out = {}
    for cell in cells:
        model = forecast([other for other in cells if other.draft_len != cell.draft_len], plain_step_ms)
        if model is not None and model.round_ms(cell.draft_len) > 0:
            out[cell.draft_len] = model.speed_up(cell.draft_len)
    return out


def _series(keep: float, length: int) -> float:
    return sum(keep**i for i in range(1, length + 1))


def _keep(cells: Sequence[Measured], share: float) -> float:
    """`a` for which the model has as many accepted drafts as there were; found by halving, for it only grows."""
    accepted = sum(cell.accepted for cell in cells)
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _accepted(cells, share, middle) < accepted else (low, middle)
    return (low + high) / 2


def _accepted(cells: Sequence[Measured], share: float, keep: float) -> float:
    return sum(cell.rounds * share * _series(keep, cell.draft_len) for cell in cells)


def _line(points: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Intercept and slope of the weighted least-squares line through (x, y, weight)."""
    total = sum(w for _, _, w in points)
    mean_x, mean_y = sum(w * x for x, _, w in points) / total, sum(w * y for _, y, w in points) / total
    spread = sum(w * (x - mean_x) ** 2 for x, _, w in points)
    slope = sum(w * (x - mean_x) * (y - mean_y) for x, y, w in points) / spread
    return mean_y - slope * mean_x, slope
