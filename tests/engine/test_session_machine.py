"""Random walks over everything a caller may do with a session, each step held against an independent model.

The context is small, so that it runs out in every state; prefill chunks are smaller than most suffixes, so that a
turn can be cancelled between them; stop ids are picked from the tokens the oracle says are coming, so that an end
of turn falls on every place of a block.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine import generate_spec_session
from tests.factories import VOCAB
from tests.forwards import ForwardCounter
from tests.oracle import PlainOracle
from tests.scripts import GarbageDrafter
from tests.session_model import Polls, SessionModel

if TYPE_CHECKING:
    from engine import Engine

MAX_CTX = 60
PHRASES = ([7, 8, 9, 10], [20, 21], [7, 8, 9, 33], [40])

WALKS = settings(
    max_examples=200,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
)

max_news = st.one_of(st.sampled_from([0, 1, 2]), st.integers(1, 14), st.just(60))
"""Budgets; 0 and 1 are edges of their own, 60 runs into the end of the context."""
polls_before_stop = st.one_of(st.none(), st.integers(0, 4))
overshoots = st.sampled_from(["keep", "keep", "trim"])
stop_distances = st.one_of(st.none(), st.none(), st.integers(0, 9))
"""How many of the coming tokens precede the one that is made a stop id."""
suffixes = st.lists(st.sampled_from(PHRASES), min_size=1, max_size=3).map(
    lambda parts: [token for part in parts for token in part]
)


EVERYWHERE = (
    {f"turn in {state}" for state in ("FRESH", "PENDING", "PREDICTED")}
    | {f"turn cancelled at entry in {state}" for state in ("FRESH", "PENDING", "PREDICTED")}
    | {f"turn cancelled between chunks in {state}" for state in ("FRESH", "PENDING")}
    | {f"continuation in {state}{less}" for state in ("PENDING", "PREDICTED") for less in ("", " without a token")}
    | {f"continuation after an end of turn in {state}" for state in ("PENDING", "PREDICTED")}
    | {f"rewind from {state}" for state in ("PENDING", "PREDICTED")}
    | {f"end of turn as {origin}" for origin in ("first", "draft", "bonus", "correction")}
    | {f"ended by {reason}" for reason in ("stop", "length", "cancelled", "context")}
    | {"turn refused for room in PENDING", "flush refused for room", "turn of no budget"}
    | {"header point", "overshoot", "trimmed", "drop"}
)
"""Walks that miss one of these prove less than they claim."""


class SessionMachine(RuleBasedStateMachine):
    """One session's life on the engine that the test below puts in `engine`."""

    engine: ClassVar[Engine]
    oracle: ClassVar[PlainOracle]
    in_traces: ClassVar[list[int]]
    seen: ClassVar[Counter[str]]
    slots: ClassVar[int]
    draft_model: ClassVar[str]

    @initialize(
        draft_len=st.integers(1, 7),
        drafter=st.sampled_from(["none", "ngram", "garbage", "model"]),
        stopped=st.booleans(),
    )
    def begin(self, draft_len, drafter, stopped):
        """A session, whose very first turn may be stopped between two chunks: walks alone hardly come to that."""
        session = self.engine.new_session(drafter=self._drafter(drafter), draft_len=draft_len)
        self.model = SessionModel(self.engine, self.oracle, session)
        self.model.check()
        if stopped:
            self.engine.prefill_chunk = 3
            suffix = [token for phrase in PHRASES for token in phrase]
            self.model.turn(suffix, 5, Polls(1), None, overshoot="keep", stop_ids=frozenset())

    def _drafter(self, name):
        if name == "model":
            return self.draft_model
        if name != "garbage":
            return name

        def truth(history, count):
            # Decoded when it is not known: what a walk does must not depend on the walks before it.
            ahead = min(count, MAX_CTX + 1 - len(history))
            return self.oracle.continuation(history, ahead) + [0] * (count - ahead)

        return GarbageDrafter(VOCAB, truth=truth)

    def _stop_ids(self, suffix, distance):
        """A stop id that is coming, `distance` tokens ahead, if the context lets the oracle look that far."""
        history = [*self.model.history, *suffix]
        if distance is None or not history or len(history) > MAX_CTX:
            return frozenset()
        ahead = min(distance + 1, MAX_CTX + 1 - len(history))
        return frozenset(self.oracle.continuation(history, ahead)[-1:]) if ahead > 0 else frozenset()

    @rule(
        suffix=suffixes,
        max_new=max_news,
        stop_at=polls_before_stop,
        overshoot=overshoots,
        distance=stop_distances,
        header=st.one_of(st.none(), st.integers(0, 6)),
        chunk=st.sampled_from([3, 5, 64]),
    )
    def turn(self, suffix, max_new, stop_at, overshoot, distance, header, chunk):
        self.engine.prefill_chunk = chunk
        lowest = len(self.model.history)
        inside = header is not None and header <= len(suffix) and lowest + header > 0
        checkpoint_at = lowest + header if inside else None
        self.model.turn(
            suffix,
            max_new,
            Polls(stop_at),
            checkpoint_at,
            overshoot=overshoot,
            stop_ids=self._stop_ids(suffix, distance),
        )

    @rule(
        max_new=max_news,
        stop_at=polls_before_stop,
        overshoot=overshoots,
        distance=stop_distances,
        ended=st.booleans(),
        ignore_eos=st.sampled_from([False, False, True]),
    )
    def proceed(self, max_new, stop_at, overshoot, distance, ended, ignore_eos):
        stop_ids = self._stop_ids([], distance)
        if ended and self.model.history:
            stop_ids |= {self.model.history[-1]}
        self.model.proceed(max_new, Polls(stop_at), overshoot=overshoot, stop_ids=stop_ids, ignore_eos=ignore_eos)

    @rule(resume=st.booleans())
    def flush(self, resume):
        self.model.flush()
        if resume and self.model.history:
            self.model.proceed(3, Polls(), stop_ids=frozenset(self.model.history[-1:]))

    @rule(which=st.one_of(st.none(), st.integers(0, 3)), astray=st.sampled_from([0, 0, 0, 1]))
    def rewind(self, which, astray):
        points = self.model.points
        pos = None if which is None else (points[-1 - which % len(points)] if points else which) + astray
        self.model.rewind(pos)

    @precondition(lambda self: self.model.last_round > 0)
    @rule(data=st.data())
    def drop_overshoot(self, data):
        self.model.drop(data.draw(st.integers(1, self.model.last_round)))

    @precondition(lambda self: self.model.room < 16)
    @rule()
    def reset(self):
        self.model.reset()

    @rule(drafter=st.sampled_from(["none", "ngram", "garbage", "model"]), draft_len=st.integers(1, 7))
    def change_drafter(self, drafter, draft_len):
        self.model.session.set_drafter(self._drafter(drafter), draft_len)
        self.model.check()

    @precondition(lambda self: self.slots == 2)
    @rule()
    def lose_the_rows(self):
        rivals = [self.engine.new_session("none") for _ in range(self.slots)]
        for rival in rivals:
            generate_spec_session(rival, PHRASES[0], 1, ignore_eos=True)
        for rival in rivals:
            self.oracle.forwards += ForwardCounter.in_trace(rival)
            rival.close()
        self.model.seen["evicted"] += self.model.session.slot is None
        self.model.check()

    @invariant()
    def telemetry_is_the_traces(self):
        if not hasattr(self, "model"):
            return
        session = self.model.session
        rounds = [event for event in session.trace if event.kind == "round"]
        assert session.telem.rounds == len(rounds)
        assert session.telem.drafted == sum(len(event.drafted) for event in rounds)
        assert session.telem.accepted == sum(event.accepted for event in rounds)
        assert session.telem.emitted == sum(event.emitted for event in rounds)

    def teardown(self):
        if hasattr(self, "model"):
            self.seen.update(self.model.seen)
            self.in_traces.append(ForwardCounter.in_trace(self.model.session))
            self.model.session.close()


def walk(engine, slots, draft) -> Counter[str]:
    """Run the machine on `engine`, with `draft` for a draft model; what its walks saw, all forwards accounted for."""
    oracle = PlainOracle(engine)
    in_traces: list[int] = []
    seen: Counter[str] = Counter()
    shared = {"engine": engine, "oracle": oracle, "in_traces": in_traces, "seen": seen, "slots": slots}
    shared["draft_model"] = f"model:{draft}"
    counter = ForwardCounter(engine)
    try:
        run_state_machine_as_test(type("Walk", (SessionMachine,), shared), settings=WALKS)
    finally:
        counter.remove()
    assert counter.count == sum(in_traces) + oracle.forwards
    assert sum(in_traces) > 1000, "the walks hardly decoded anything"
    return seen


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_session_keeps_its_contract_on_random_walks(tiny_engine, tiny_checkpoint):
    """Three engines; on the last, which has two slots, rivals also take the session's rows away.

    The draft models: the trunk itself, another architecture, and the trunk again.
    """
    seen = walk(tiny_engine("llama", "float32", max_ctx=MAX_CTX), 4, tiny_checkpoint("llama"))
    seen += walk(tiny_engine("mistral", "bfloat16", max_ctx=MAX_CTX), 4, tiny_checkpoint("qwen2"))
    assert not seen["evicted"]
    seen += walk(tiny_engine("qwen3", "float32", max_ctx=MAX_CTX, slots=2), 2, tiny_checkpoint("qwen3"))
    assert seen["evicted"] > 20
    missed = EVERYWHERE - set(seen)
    assert not missed, f"the walks never saw: {missed}"
