"""What a sweep comes to, in plain sentences: the best setting, or that plain decoding is best and why."""

from __future__ import annotations

from playground.names import drafter_label
from playground.sweep.summary import Cell, Spread, Summary


def verdict(summary: Summary) -> list[str]:
    """The first sentence is the answer; the others say why, and what to know about it."""
    best = summary.best
    if best is None or best.speed_up is None:
        return ["Nothing has been compared yet."]
    out = [_answer(best, best.speed_up), *_reasons(best, best.speed_up)]
    out += [_as_good(summary, best, best.speed_up), _kinds(summary), _texts(summary), _width(summary)]
    return [sentence for sentence in out if sentence]


def setting(cell: Cell) -> str:
    """A cell's name in a sentence."""
    return f"{drafter_label(cell.drafter)} at K = {cell.draft_len}"


def _answer(best: Cell, speed: Spread) -> str:
    name, fast = setting(best), f"{speed.median:.2f}× as fast"
    if speed.low > 1:
        return f"Best: {name}, {fast} as plain decoding{_middle(speed)}."
    if speed.high < 1:
        return f"Plain decoding is best here: the closest, {name}, is {fast}{_middle(speed)}."
    return f"No setting clearly beats plain decoding: {name} is {fast}{_middle(speed)}."


def _middle(speed: Spread) -> str:
    if speed.count < 2:
        return " (one repeat, so how much it wavers is not known)"
    return f" ({speed.low:.2f}× to {speed.high:.2f}× in the middle half of {speed.count} repeats)"


def _reasons(best: Cell, speed: Spread) -> list[str]:
    if best.cost is None:
        return []
    if speed.median > 1 or best.cost.by_medians > 1:
        return [best.cost.sentence()]
    return [f"Speculation loses because {best.cost.reason()}", best.cost.sentence()]


def _as_good(summary: Summary, best: Cell, speed: Spread) -> str:
    """The settings that the spread does not tell from the best."""
    if speed.count < 2 or speed.median <= 1:
        return ""
    near = [c for c in summary.cells if c is not best and c.speed_up is not None and c.speed_up.high >= speed.low]
    return f"Within the spread, as good: {', '.join(map(setting, near))}." if near else ""


def _kinds(summary: Summary) -> str:
    """Where the kinds of prompts disagree on what is best."""
    if len(summary.categories) < 2:
        return ""
    parts = []
    for category in summary.categories:
        cells = [cell for cell in summary.cells if category in cell.by_category]
        if cells:
            top = max(cells, key=lambda cell: cell.by_category[category])
            value = top.by_category[category]
            parts.append(f"{category} {'plain' if value < 1 else f'{value:.2f}× ({_short(top)})'}")
    return f"Best by kind of prompt: {', '.join(parts)}." if parts else ""


def _short(cell: Cell) -> str:
    return f"{cell.drafter}, K = {cell.draft_len}"


def _texts(summary: Summary) -> str:
    same, compared = (sum(getattr(cell, name) for cell in summary.cells) for name in ("same", "compared"))
    if not compared:
        return ""
    if same == compared:
        return "Every setting gave the tokens of plain decoding, prompt by prompt."
    return (
        f"{compared - same} of {compared} answers differ from plain decoding; where the engine claims exactness, that "
        "is a fault: check it with a race."
    )


def _width(summary: Summary) -> str:
    if summary.plain_width <= 1:
        return ""
    return (
        f"Plain steps run at width {summary.plain_width} here, the narrowest at which this engine serves; an engine "
        "made for plain decoding alone can be a few per cent faster."
    )
