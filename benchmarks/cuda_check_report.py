"""What the device check found: lines, targets, the table and the JSON; and the time each section may take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

VERDICTS = {True: "ok", False: "WRONG", None: ""}


@dataclass(frozen=True)
class Line:
    """One finding."""

    section: str
    what: str
    value: float
    unit: str = ""
    ok: bool | None = None
    """Whether it is as it must be; None where it is only a figure."""
    note: str = ""


@dataclass
class Report:
    """Collects lines; sections that failed or ran out of time are lines too."""

    lines: list[Line] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    """Section -> what ended it early."""

    def add(
        self, section: str, what: str, value: float, unit: str = "", ok: bool | None = None, note: str = ""
    ) -> None:
        """Note a finding."""
        self.lines.append(Line(section, what, float(value), unit, ok, note))

    def value(self, section: str, what: str) -> float | None:
        """The value of one finding, None where it was not made."""
        return next((x.value for x in self.lines if (x.section, x.what) == (section, what)), None)

    def table(self) -> str:
        """Lines under the name of their section, sections in the order they began."""
        out = []
        for section in dict.fromkeys(line.section for line in self.lines):
            out.append(f"\n{section}")
            for line in self.lines:
                if line.section == section:
                    value = f"{line.value:.4g} {line.unit}".strip()
                    out.append(f"  {line.what:<44} {value:>20}  {VERDICTS[line.ok]:<6}{line.note}".rstrip())
        return "\n".join(out)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"lines": [asdict(line) for line in self.lines], "failures": self.failures}


class OutOfTime(Exception):
    """A section's budget is used up."""


class Clock:
    """A section's time budget."""

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds

    def check(self) -> None:
        """Raise OutOfTime when nothing is left; called between the parts of a section."""
        if time.perf_counter() > self._end:
            raise OutOfTime("its time budget was used up")


@dataclass(frozen=True)
class Target:
    """What a GPU must show."""

    sentence: str
    section: str
    what: str
    least: float | None = None
    most: float | None = None

    def verdict(self, report: Report) -> str:
        """`met`, `not met` or `not measured`, with the value."""
        value = report.value(self.section, self.what)
        if value is None:
            return "not measured"
        met = (self.least is None or value >= self.least) and (self.most is None or value <= self.most)
        return f"{'met' if met else 'not met'} ({value:.3g})"


TARGETS = (
    Target("8B plain decode reaches 70 % of the memory roofline", "speed 8B", "share of roofline", least=0.70),
    Target("1B plain decode reaches 50 % of the memory roofline", "speed 1B", "share of roofline", least=0.50),
    Target("8B at acceptance 0.8 and K=4 is 2.3 times plain", "speed 8B", "speed-up at 0.8, K=4", least=2.3),
    Target("1B at acceptance 0.8 and K=4 is 2.3 times plain", "speed 1B", "speed-up at 0.8, K=4", least=2.3),
    Target("a round waits for the device once", "rounds", "most synchronisations a round", most=1),
    Target("greedy tokens are identical", "exactness", "runs that differ", most=0),
    Target("nothing is captured again", "rounds", "captures after the first use", most=0),
)


def target_table(report: Report, measured: bool, targets: Sequence[Target] = TARGETS) -> dict[str, str]:
    """Sentence -> verdict; all `not measured` where this is not the device they are about."""
    return {t.sentence: t.verdict(report) if measured else "not measured" for t in targets}
