"""Takes the measurements: arms take turns within every repeat, so that a machine that slows down slows all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.arms import Arm
from benchmarks.passes import Pass

Passes = dict[str, list[dict[str, Pass]]]
"""By arm: one entry per repeat, each by conversation."""


def measure(
    arms: Sequence[Arm],
    conversations: Mapping[str, Sequence[Sequence[int]]],
    new: int,
    repeat: int,
    say: Callable[[str], None] = print,
) -> Passes:
    """Run every arm over every conversation (suffixes by name), `repeat` times.

    A short pass before anything counts warms every arm. The order of the arms turns by one in each repeat, so that
    none always follows the same other.
    """
    for arm in arms:
        arm.run(next(iter(conversations.values()))[:1], 8)
    out: Passes = {arm.name: [{} for _ in range(repeat)] for arm in arms}
    for number in range(repeat):
        shift = number % len(arms)
        for name, suffixes in conversations.items():
            for arm in [*arms[shift:], *arms[:shift]]:
                got = arm.run(suffixes, new)
                out[arm.name][number][name] = got
                tokens, seconds = sum(map(len, got.tokens)), sum(turn.seconds for turn in got.turns)
                say(f"repeat {number + 1}/{repeat}  {name:10}  {arm.name:10}  {tokens / seconds:6.1f} tokens/s")
    return out
