"""Probabilities as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from engine.events import Alternatives


def percent(chance: float) -> str:
    """`62 %`; below one in a hundred with the digits that say something, never a false 0 or 100."""
    value = 100 * chance
    if value <= 0:
        return "0 %"
    if value < 0.1:
        return "under 0.1 %"
    if value < 1:
        return f"{value:.1f} %"
    return f"{min(value, 99) if chance < 1 else 100:.0f} %"


def in_hundred(chance: float) -> str:
    """`22 times in 100`, `never`, `always`."""
    if chance >= 1:
        return "always"
    if chance <= 0:
        return "never"
    times = round(100 * chance)
    if times == 0:
        return "less than once in 100"
    return f"{min(times, 99)} time{'s' * (times != 1)} in 100"


def chance_of(token: int, row: Sequence[tuple[int, float]]) -> str:
    """How probable a row of alternatives says `token` is; '' when there is no row."""
    if not row:
        return ""
    known = dict(row)
    if token in known:
        return percent(known[token])
    most = min(row[-1][1], 1 - sum(known.values()))  # what the known ones leave, and no more than the last of them
    return "under 0.1 %" if most < 0.001 else f"at most {percent(most)}"


def row_at(rows: Sequence[Alternatives], place: int) -> Alternatives:
    """One column's alternatives, () where none were recorded."""
    return rows[place] if 0 <= place < len(rows) else ()
