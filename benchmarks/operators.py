"""What a forward spends its time on, operator by operator, from torch's profiler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch.autograd import DeviceType  # type: ignore[attr-defined]  # torch's stubs leave it out
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function

from kernels import attention

ATTENTION = "attention"
"""Marks the profile's span of one attention."""
PRODUCTS = ("mkldnn::", "mkldnn_", "aten::mm", "aten::addmm", "aten::linear", "aten::matmul", "aten::mkl")
"""Operators that are matrix products with weights, by the beginning of their names."""


@dataclass(frozen=True)
class Operator:
    """One operator of the profile, its own time without what it called."""

    name: str
    part: str
    """`products`, `attention` or `other`."""
    calls: float
    """Per run."""
    ms: float
    """Per run."""


@dataclass(frozen=True)
class Profile:
    """Operators by time, and what the run took by the clock while the profiler looked on (slower than without)."""

    operators: list[Operator]
    wall_ms: float

    def parts(self) -> dict[str, float]:
        """Milliseconds of `products`, `attention`, `other` operators, and of `python` between the operators."""
        out = {"products": 0.0, ATTENTION: 0.0, "other": 0.0}
        for operator in self.operators:
            out[operator.part] += operator.ms
        return out | {"python": max(0.0, self.wall_ms - sum(out.values()))}


def profile_runs(run: Callable[[], object], runs: int) -> Profile:
    """Profile `runs` calls of `run`, after one that is not counted."""
    with _marked_attention():
        run()
        with profile(activities=[ProfilerActivity.CPU]) as seen, record_function("runs"):
            for _ in range(runs):
                run()
    events = [event for event in seen.events() if event.device_type == DeviceType.CPU]
    wall = next(event.cpu_time_total for event in events if event.name == "runs")
    calls: dict[tuple[str, str], int] = defaultdict(int)
    microseconds: dict[tuple[str, str], float] = defaultdict(float)
    for event in events:
        if event.name in ("runs", ATTENTION):
            continue
        key = (event.name, part_of(event))
        calls[key] += 1
        microseconds[key] += event.self_cpu_time_total
    operators = [
        Operator(name, part, calls[name, part] / runs, spent / runs / 1e3)
        for (name, part), spent in microseconds.items()
    ]
    return Profile(sorted(operators, key=lambda operator: -operator.ms), wall / runs / 1e3)


def part_of(event: FunctionEvent) -> str:
    """The part of a forward that an operator belongs to; what attention calls is attention, its products included."""
    part = "other"
    at: FunctionEvent | None = event
    while at is not None:
        if at.name == ATTENTION or at.name.startswith("aten::scaled_dot_product"):
            return ATTENTION
        if at.name.startswith(PRODUCTS):
            part = "products"
        at = at.cpu_parent
    return part


@contextmanager
def _marked_attention() -> Iterator[None]:
    """Within the block, every call of our attention is a span of the profile."""
    plain: Callable[..., Any] = attention.reference

    def marked(*args: Any, **kwargs: Any) -> Any:
        with record_function(ATTENTION):
            return plain(*args, **kwargs)

    attention.reference = marked
    try:
        yield
    finally:
        attention.reference = plain
