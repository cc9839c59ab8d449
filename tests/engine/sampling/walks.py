"""Seeded random walks: sessions that share an engine do all that sampled and greedy sessions can do."""

from __future__ import annotations

import random
from collections import Counter

from engine import ContextFull, SamplingParams, SpecSession, spec_flush_pending, spec_rewind_to_checkpoint
from engine.rewind import drop_overshoot, reset
from engine.take_back import take_back
from tests.engine.sampling.play import Play
from tests.engine.sampling.table_trunk import TRUNK, VOCAB, PointDrafter, TableDrafter, TableEngine, table_drafter

SETTINGS = (
    None,
    SamplingParams(temperature=0.8, seed=7),
    SamplingParams(temperature=1.2, seed=7),
    SamplingParams(top_k=3, top_p=0.9, presence_penalty=0.5),  # the session's own seed
    SamplingParams(temperature=0.6, min_p=0.1, repetition_penalty=1.2, frequency_penalty=0.3, penalty_last_n=5, seed=0),
    SamplingParams(temperature=0.0, presence_penalty=0.9, penalty_last_n=4),
)
MAX_CTX = 60
STOP = VOCAB - 1


class Walker:
    """One session, and what its next burst will be chosen by."""

    def __init__(self, session: SpecSession, rng: random.Random, modes: tuple[str, ...]) -> None:
        self.session, self.play, self._rng, self._modes = session, Play(session), rng, modes
        self.sampling: SamplingParams | None = SETTINGS[1]
        self.seen: Counter[str] = Counter()
        self.play.verify = modes[0]
        session._seed = rng.getrandbits(64)  # instead of the system's: a walk is the same every time

    def step(self) -> None:
        """One random operation; what is not possible in this state is passed over."""
        name = self._rng.choices(*zip(*OPERATIONS.items(), strict=True))[0]
        draws, tests = self.session.sctr, self.session.uctr
        try:
            getattr(self, name)()
        except ContextFull:
            self.seen["full"] += 1
            reset(self.session)
        assert self.session.sctr >= draws and self.session.uctr >= tests, "I7"
        self._agree()
        self.seen[name] += 1

    def _agree(self) -> None:
        """The rows and the drafter know what the session has committed."""
        session = self.session
        if session.slot is not None:
            assert session.slot.rows[: session.slot.length] == session.committed
        if isinstance(session.drafter, TableDrafter | PointDrafter):
            assert session.drafter.rows == session.committed

    def turn(self) -> None:
        self._burst([self._rng.randrange(VOCAB) for _ in range(self._rng.randint(1, 3))])

    def proceed(self) -> None:
        if self.session.state != "FRESH":
            self._burst([])

    def _burst(self, suffix: list[int]) -> None:
        rng, polls = self._rng, iter(range(100))
        stop_at = rng.choice([100, 100, 100, 0, 1, 2])
        lowest = len(self.session.history) + (self.session.state == "FRESH")
        at = rng.randint(lowest, lowest + len(suffix) - 1) if suffix and rng.random() < 0.3 else None
        burst = self.play.burst(
            self.sampling,
            suffix,
            rng.choice([0, 1, 2, 3, 5, 9]),
            overshoot=rng.choice(["keep", "keep", "trim"]),
            stop_ids=frozenset([STOP] if rng.random() < 0.3 else []),
            checkpoint_at=at,
            on_tokens=lambda tokens: next(polls) < stop_at,
        )
        self.seen[f"ended by {burst.reason}"] += 1

    def flush(self) -> None:
        spec_flush_pending(self.session)

    def rewind(self) -> None:
        if points := self.session.rewind_points():
            spec_rewind_to_checkpoint(self.session, self._rng.choice(points))

    def drop(self) -> None:
        tail = self.session.tail
        if tail is not None and self.session.state == "PENDING":
            drop_overshoot(self.session, self._rng.randint(1, len(tail.tokens)))

    def take_back(self) -> None:
        held = len(self.session.history)
        if held > 1:
            take_back(self.session, self._rng.randint(max(1, held - 6), held))

    def reprime(self) -> None:
        self.session.reprime()

    def reset(self) -> None:
        reset(self.session)

    def drafter(self) -> None:
        name = self._rng.choice(["none", "ngram", "point", "table", "table"])
        self.session.set_drafter(table_drafter(name), self._rng.randint(0, 7))
        self.session.draft_cut = self._rng.choice([0.0, 0.0, 0.4])
        self.session.alternatives = self._rng.choice([0, 0, 2])

    def settings(self) -> None:
        self.sampling = self._rng.choice(SETTINGS)
        self.play.verify = self._rng.choice(self._modes)


OPERATIONS = {
    "turn": 6,
    "proceed": 12,
    "flush": 3,
    "rewind": 2,
    "drop": 2,
    "take_back": 2,
    "reprime": 1,
    "reset": 0.3,
    "drafter": 3,
    "settings": 3,
}


def walk(
    seed: int, steps: int, modes: tuple[str, ...] = ("rejection", "coupled"), *, device: bool = False
) -> list[Walker]:
    """Two sessions on an engine with rows for one, in turns of a few steps each."""
    rng = random.Random(seed)
    engine = TableEngine(TRUNK, max_ctx=MAX_CTX, slots=1, device=device)
    walkers = [Walker(engine.new_session(table_drafter("table"), 3), rng, modes) for _ in range(2)]
    for _ in range(steps):
        walker = rng.choice(walkers)
        for _ in range(rng.randint(1, 4)):
            walker.step()
    return walkers
