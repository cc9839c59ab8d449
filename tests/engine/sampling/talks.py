"""Turns of sampled tokens, cut into bursts in every way, and what must not depend on the cutting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine import (
    Engine,
    SamplingParams,
    SpecSession,
    generate_spec_session,
    generate_spec_session_sampled,
    spec_rewind_to_checkpoint,
)
from engine.drafters import Drafter
from engine.events import RoundEvent
from engine.rewind import drop_overshoot

Edge = Callable[[SpecSession], None]


@dataclass(frozen=True)
class Told:
    """What came of a talk."""

    history: tuple[int, ...]
    turns: tuple[tuple[int, ...], ...]
    """Visible tokens of each turn."""
    counters: tuple[int, int]
    rounds: tuple[tuple[object, ...], ...]
    """What each round drafted, accepted and emitted, and its numbers."""


def talk(
    engine: Engine,
    drafter: str | Drafter,
    k: int,
    sampling: SamplingParams | None,
    turns: Sequence[tuple[Sequence[int], int]],
    *,
    verify: str = "rejection",
    burst: int | None = None,
    stop_each_round: bool = False,
    drop: bool = False,
    at_edge: Edge = lambda session: None,
) -> Told:
    """Play `turns` of (suffix, tokens); an empty suffix goes back to the prompt's end and answers again.

    Bursts are of `burst` tokens (None: whole turns); with `stop_each_round` the caller stops at every round's edge.
    `at_edge` is called between two bursts of a turn. `drop` forgets a turn's overshoot at its end, as a chat does.
    """
    session = engine.new_session(drafter=drafter, draft_len=k)
    said = []
    for suffix, new in turns:
        if not suffix:
            spec_rewind_to_checkpoint(session)
        got: list[int] = []
        while len(got) < new:
            if got:
                at_edge(session)
            size = min(burst or new, new - len(got))
            options = {"ignore_eos": True, "on_tokens": (lambda tokens: not tokens) if stop_each_round else None}
            given = list(suffix) if not got else []
            if sampling is None:
                got += generate_spec_session(session, given, size, **options).tokens
            else:
                got += generate_spec_session_sampled(session, given, size, sampling, verify=verify, **options).tokens
        if drop:
            drop_overshoot(session, len(got) - new)
        said.append(tuple(got[:new]))
    rounds = tuple(
        (e.pos, e.pending, e.drafted, e.accepted, e.bonus, e.sctr, e.uctr, e.test_u)
        for e in session.trace.of(RoundEvent)
    )
    told = Told(tuple(session.history), tuple(said), (session.sctr, session.uctr), rounds)
    session.close()
    return told
