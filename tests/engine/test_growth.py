"""What a round costs does not grow with a session's past, and a finished session leaves nothing behind."""

from __future__ import annotations

import gc
import sys
import weakref
from statistics import median

import pytest

from engine import generate_spec_session
from engine.session import MAX_POINTS

TURNS = 200


def _calls(work) -> int:
    """Python and C calls made by `work`: a clock that a busy machine does not disturb."""
    count = 0

    def profile(frame, event, arg) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("drafter", ["none", "ngram"])
def test_the_work_of_a_turn_is_the_same_after_200_turns(tiny_engine, drafter):
    engine = tiny_engine("llama", max_ctx=1024)
    session = engine.new_session(drafter=drafter, draft_len=3)
    engine.debug, debug = False, engine.debug  # the invariant checks walk the whole session, on purpose
    try:
        costs, rounds = [], []
        for turn in range(TURNS):
            before = session.telem.rounds
            suffix = [3 + turn % 7, 11]
            costs.append(
                _calls(lambda s=suffix: generate_spec_session(session, s, 2, overshoot="trim", ignore_eos=True))
            )
            rounds.append(session.telem.rounds - before)
            if session.room() < 40:
                break
    finally:
        engine.debug = debug
    assert len(costs) == TURNS, "the context was long enough for every turn"
    tenth = TURNS // 10
    per_turn = [cost / (1 + n) for cost, n in zip(costs, rounds, strict=True)]
    # n-gram look-ups are by index, the trace is bounded, checkpoints are bounded: only the attention's extra
    # blocks (one at every 128 rows) add calls, a handful per layer
    assert median(per_turn[-tenth:]) <= 1.1 * median(per_turn[2 : 2 + tenth])
    assert len(session.rewind_points()) <= MAX_POINTS
    session.close()


def test_finished_sessions_leave_nothing_behind(tiny_engine):
    engine = tiny_engine("llama", slots=2)
    slots = engine.slots.nbytes
    gone = []
    for turn in range(20):
        session = engine.new_session(drafter="ngram")
        generate_spec_session(session, [5, 9, 3 + turn], 12, ignore_eos=True)
        session.close()
        gone.append(weakref.ref(session))
        del session
    gc.collect()
    assert [ref() for ref in gone] == [None] * 20
    assert len(engine.slots) == 0 and engine.slots.nbytes <= max(slots, 2 * engine.trunk.new_slot(264).nbytes)


def test_a_trace_that_is_read_as_it_grows_costs_what_is_new(tiny_engine):
    session = tiny_engine("llama").new_session()
    generate_spec_session(session, [5, 9, 3], 100, ignore_eos=True)
    trace = session.trace
    few = _calls(lambda: trace.since(trace.next_seq - 3))
    assert few < 40 < len(trace)
    assert [e.seq for e in trace.since(trace.next_seq - 3)] == list(range(trace.next_seq - 3, trace.next_seq))
    session.close()
