"""Two sweeps side by side: what changed in each setting that both have measured, and what else is not the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from playground.sweep.run import Run
from playground.sweep.summary import Cell, Spread, summary_of


@dataclass(frozen=True)
class Change:
    """One setting in both runs."""

    drafter: str
    draft_len: int
    before: float
    after: float
    apart: bool
    """Whether the middle halves of the repeats do not overlap: then it is more than noise."""

    @property
    def difference(self) -> float:
        """Of the median speed-ups."""
        return self.after - self.before


@dataclass(frozen=True)
class Comparison:
    """`after` against `before`."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...]


def compare(before: Run, after: Run) -> Comparison:
    """The differences of the median speed-ups."""
    first, second = _cells(before), _cells(after)
    changes = tuple(
        Change(*key, first[key].median, second[key].median, _apart(first[key], second[key]))
        for key in first
        if key in second
    )
    return Comparison(changes, tuple(_notes(before, after, changes)))


def _cells(run: Run) -> dict[tuple[str, int], Spread]:
    cells: tuple[Cell, ...] = summary_of(run).cells
    return {(cell.drafter, cell.draft_len): cell.speed_up for cell in cells if cell.speed_up is not None}


def _apart(a: Spread, b: Spread) -> bool:
    return a.count > 1 and b.count > 1 and (a.high < b.low or b.high < a.low)


def _notes(before: Run, after: Run, changes: tuple[Change, ...]) -> Iterator[str]:
    if before.id == after.id:
        yield "This is the same sweep twice."
        return
    if not changes:
        yield "The two have no setting in common."
    if before.model.name != after.model.name:
        yield f"The models differ: {before.model.name}, then {after.model.name}."
    elif before.model != after.model:
        was, now = (f"{m.dtype} on {m.device}" for m in (before.model, after.model))
        yield f"The model ran differently: {was}, then {now}."
    if before.machine != after.machine:
        yield f"The machines differ: {_machine(before)}, then {_machine(after)}."
    if before.versions != after.versions:
        names = [
            name for name in {**before.versions, **after.versions} if _version(before, name) != _version(after, name)
        ]
        told = (f"{name} {_version(before, name)}, then {_version(after, name)}" for name in names)
        yield f"The software differs: {'; '.join(told)}."
    if sorted(p.fingerprint for p in before.prompts) != sorted(p.fingerprint for p in after.prompts):
        yield "The prompts differ, so part of the change may come from them."
    if before.max_new != after.max_new:
        yield f"The answers were of at most {before.max_new} tokens, then of {after.max_new}."


def _machine(run: Run) -> str:
    where = run.machine
    return f"{where.gpu or where.processor or 'an unknown processor'}, {where.threads} threads"


def _version(run: Run, name: str) -> str:
    return run.versions.get(name, "none")
