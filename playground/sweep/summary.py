"""The figures of a sweep, computed from its records: speed-ups with their spread, acceptance, and the cost model.

A speed-up is taken within one repeat: the decode speed of a setting over all prompts, in tokens a second, divided by
that of plain decoding over the same prompts in the same repeat. Only decoding counts: the prompt and the first token
are left out. Median and quartiles are over the repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles

from playground.race.cost_model import CostModel
from playground.sweep.forecast import Forecast, Measured, forecast, left_out
from playground.sweep.run import Pass, Run


@dataclass(frozen=True)
class Spread:
    """The middle of some values, and the middle half of them."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Cell:
    """One drafter at one K."""

    drafter: str
    draft_len: int
    speed_up: Spread | None
    """None while it has not been measured beside plain decoding."""
    rate: Spread | None
    """Tokens a second of decoding."""
    acceptance: float | None
    """Accepted ÷ drafted; None without drafts."""
    cost: CostModel | None
    by_category: dict[str, float]
    """Median speed-up."""
    same: int
    """Prompts whose tokens are those of plain decoding,"""
    compared: int
    """of so many."""
    measured: Measured
    """What a forecast is fitted to."""
    foretold: float | None = None
    """Speed-up that the drafter's other settings forecast for this one; None where they cannot."""


@dataclass(frozen=True)
class Summary:
    """A sweep in numbers."""

    plain_rate: Spread | None
    plain_step_ms: float | None
    plain_width: int
    cells: tuple[Cell, ...]
    categories: tuple[str, ...]
    forecasts: dict[str, Forecast]
    """The cost model of each drafter that was measured at two K or more."""

    @property
    def best(self) -> Cell | None:
        """The cell of the largest median speed-up; None while nothing has been compared."""
        measured = [cell for cell in self.cells if cell.speed_up is not None]
        return max(measured, key=_speed, default=None)


def summary_of(run: Run) -> Summary:
    """The figures of what was measured, whole or not."""
    by_arm: dict[int, list[Pass]] = {arm: [] for arm in range(len(run.arms))}
    for record in run.passes:
        by_arm[record.arm].append(record)
    plain = by_arm[0]
    step = _median(record.round_ms for record in plain if record.round_ms > 0)
    categories = tuple(dict.fromkeys(prompt.category for prompt in run.prompts))
    texts = {record.prompt: record.text for record in plain}
    cells = tuple(_cell(run, arm, by_arm[arm], plain, step, categories, texts) for arm in range(1, len(run.arms)))
    widths = [record.width for record in plain if record.width]
    models = {name: model for name in run.drafters if (model := forecast(_of(cells, name), step or 0.0)) is not None}
    cells = tuple(
        replace(cell, foretold=left_out(_of(cells, cell.drafter), step or 0.0).get(cell.draft_len)) for cell in cells
    )
    return Summary(_spread(_rates(plain)), step, min(widths, default=0), cells, categories, models)


def _of(cells: Sequence[Cell], drafter: str) -> list[Measured]:
    return [cell.measured for cell in cells if cell.drafter == drafter]


def _cell(
    run: Run,
    arm: int,
    passes: Sequence[Pass],
    plain: Sequence[Pass],
    step: float | None,
    categories: Sequence[str],
    texts: dict[int, str],
) -> Cell:
    drafter, draft_len = run.arms[arm]
    speed_up = _spread(_speed_ups(passes, plain, lambda record: True))
    drafted, rounds = sum(record.drafted for record in passes), sum(record.rounds for record in passes)
    accepted = sum(record.accepted for record in passes)
    round_ms = _median(record.round_ms for record in passes if record.round_ms > 0)
    cost = None
    if step is not None and round_ms is not None and rounds:
        per_round = sum(record.emitted for record in passes) / rounds
        cost = CostModel(per_round, step, round_ms, None if speed_up is None else speed_up.median)
    by_category = {
        category: value
        for category in categories
        if (value := _median(_speed_ups(passes, plain, _of_category(run, category)))) is not None
    }
    told = {record.prompt: record.text for record in passes if record.prompt in texts}
    return Cell(
        drafter=drafter,
        draft_len=draft_len,
        speed_up=speed_up,
        rate=_spread(_rates(passes)),
        acceptance=accepted / drafted if drafted else None,
        cost=cost if cost is not None and cost.tokens_per_round > 0 else None,
        by_category=by_category,
        same=sum(text == texts[prompt] for prompt, text in told.items()),
        compared=len(told),
        measured=Measured(draft_len, rounds, drafted, accepted, round_ms or 0.0),
    )


def _of_category(run: Run, category: str) -> Callable[[Pass], bool]:
    return lambda record: run.prompts[record.prompt].category == category


def _speed_ups(passes: Sequence[Pass], plain: Sequence[Pass], counts: Callable[[Pass], bool]) -> list[float]:
    """One per repeat, over the prompts that both have measured in it."""
    out = []
    for repeat in sorted({record.repeat for record in passes}):
        ours = {record.prompt: record for record in passes if record.repeat == repeat and counts(record)}
        theirs = {record.prompt: record for record in plain if record.repeat == repeat and counts(record)}
        both = ours.keys() & theirs.keys()
        mine, base = _rate(ours[p] for p in both), _rate(theirs[p] for p in both)
        if mine is not None and base is not None:
            out.append(mine / base)
    return out


def _rates(passes: Sequence[Pass]) -> list[float]:
    """Tokens a second, one per repeat."""
    repeats = sorted({record.repeat for record in passes})
    rates = [_rate(record for record in passes if record.repeat == repeat) for repeat in repeats]
    return [rate for rate in rates if rate is not None]


def _rate(passes: Iterable[Pass]) -> float | None:
    """Tokens a second; None where nothing was decoded after the first token."""
    records = list(passes)
    seconds = sum(record.decode_s for record in records)
    tokens = sum(record.decoded for record in records)
    return tokens / seconds if seconds > 0 and tokens else None


def _spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return Spread(middle, low, high, len(values))


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return median(known) if known else None


def _speed(cell: Cell) -> float:
    return 0.0 if cell.speed_up is None else cell.speed_up.median
