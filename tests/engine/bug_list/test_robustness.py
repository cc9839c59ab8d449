"""Faults after errors, evictions and threads that speculative sessions are known to have had."""

from __future__ import annotations

import threading

import pytest
import torch

from engine import EngineError, SessionStateError, generate_spec_session, spec_flush_pending
from engine.events import RoundEvent
from tests.engine.bug_list.right_drafter import PROMPT
from tests.factories import VOCAB
from tests.forwards import ForwardCounter
from tests.oracle import PlainOracle
from tests.scripts import GarbageDrafter, run_turn, tiny_script


class Sabotage:
    """Makes one forward of the trunk raise, or fill a layer's output with NaN, and then lets go."""

    def __init__(self, engine, *, nan, after=0):
        self._left = after
        self._nan = nan
        self._hook = engine.trunk.model.model.layers[0].mlp.register_forward_hook(self._act)

    def _act(self, module, args, output):
        if self._left:
            self._left -= 1
            return None
        self._hook.remove()
        if self._nan:
            return torch.full_like(output, float("nan"))
        raise RuntimeError("the device fell over")


@pytest.mark.parametrize("nan", [True, False], ids=["nan", "raise"])
@pytest.mark.parametrize("where", ["first prompt", "second chunk", "round", "continuation", "flush", "second turn"])
def test_one_bad_forward_costs_the_session(engine, oracle, where, nan):
    session = engine.new_session(drafter="ngram", draft_len=4)
    chunk, engine.prefill_chunk = engine.prefill_chunk, 8
    history: list[int] = []
    try:
        if where not in ("first prompt", "second chunk"):
            history = PROMPT + generate_spec_session(session, PROMPT, 5, ignore_eos=True).tokens
        before = (session.state, session.history, session.rewind_points(), session.telem.copy())
        call = {
            "first prompt": lambda: generate_spec_session(session, PROMPT, 5, ignore_eos=True),
            "second chunk": lambda: generate_spec_session(session, PROMPT, 5, ignore_eos=True),
            "round": lambda: generate_spec_session(session, [], 5, ignore_eos=True),
            "continuation": lambda: generate_spec_session(session, [], 5, ignore_eos=True),
            "flush": lambda: spec_flush_pending(session),
            "second turn": lambda: generate_spec_session(session, [44, 45, 46], 5, ignore_eos=True),
        }[where]
        Sabotage(engine, nan=nan, after=where == "second chunk")
        with pytest.raises(EngineError if nan else Exception):
            call()
        assert (session.state, session.history, session.rewind_points(), session.telem) == before
        assert session.cache_len() == len(session.committed)
        assert list(session.trace)[-1].kind == "error"
        suffix = [] if history else PROMPT
        got = generate_spec_session(session, suffix, 12, ignore_eos=True).tokens
        assert got == oracle.continuation(history + suffix, len(got)), "a stale value stayed behind"
    finally:
        engine.prefill_chunk = chunk
        session.close()


def test_a_poisoned_chunk_stays_behind_when_its_turn_is_cancelled(engine, oracle):
    """Nobody reads the logits of a chunk inside a prompt, yet its bad rows are found before the caller gives up."""
    session = engine.new_session(drafter="none")
    chunk, engine.prefill_chunk = engine.prefill_chunk, 8
    try:
        Sabotage(engine, nan=True, after=1)
        polls = iter([True, True, False])
        with pytest.raises(EngineError, match="not a number at position 8"):
            generate_spec_session(session, PROMPT, 5, on_tokens=lambda _: next(polls))
        assert (session.state, session.committed, session.cache_len()) == ("FRESH", [], 0)
        got = generate_spec_session(session, PROMPT, 9, ignore_eos=True).tokens
        assert got == oracle.continuation(PROMPT, len(got))
    finally:
        engine.prefill_chunk = chunk
        session.close()


def test_a_drafter_that_dies_in_a_flush_leaves_half_a_commit(engine, oracle):
    class Dying(GarbageDrafter):
        dead = False

        def observe(self, tokens, hidden):
            if self.dead:
                raise RuntimeError("no room in my cache")
            super().observe(tokens, hidden)

    drafter = Dying(VOCAB)
    session = engine.new_session(drafter=drafter, draft_len=3)
    said = generate_spec_session(session, PROMPT, 6, ignore_eos=True, overshoot="trim").tokens
    said += generate_spec_session(session, [], 1, ignore_eos=True).tokens
    before = (session.history, list(session.committed), session.state)
    drafter.dead = True
    with pytest.raises(RuntimeError):
        spec_flush_pending(session)
    if session.state == "FAILED":
        session.reprime()
    else:
        assert (session.history, session.committed, session.state) == before
    session.set_drafter("none")
    assert session.history == PROMPT + said
    more = generate_spec_session(session, [], 9, ignore_eos=True).tokens
    assert said + more == oracle.continuation(PROMPT, len(said) + len(more))
    session.close()


def test_a_drafter_that_dies_or_lies_takes_the_text_with_it(engine, oracle):
    class Dying(GarbageDrafter):
        def propose(self, pending, k, last_h):
            raise RuntimeError("no idea")

    class Lying(GarbageDrafter):
        def propose(self, pending, k, last_h):
            return [10**6] * k

    for kind in (Dying, Lying):
        session = engine.new_session(drafter=kind(VOCAB), draft_len=3)
        with pytest.raises((RuntimeError, EngineError)):
            generate_spec_session(session, PROMPT, 6, ignore_eos=True)
        session.set_drafter("ngram", 3)
        history = session.history
        got = generate_spec_session(session, [] if history else PROMPT, 9, ignore_eos=True).tokens
        history = history or PROMPT
        assert got == oracle.continuation(history, len(got))
        session.close()


def test_a_drafter_that_proposes_more_than_it_was_asked_for_breaks_the_round(engine, oracle):
    class Eager(GarbageDrafter):
        def propose(self, pending, k, last_h):
            return super().propose(pending, k, last_h) + [3] * 20

    session = engine.new_session(drafter=Eager(VOCAB), draft_len=2)
    got = generate_spec_session(session, PROMPT, 9, ignore_eos=True).tokens
    assert got == oracle.continuation(PROMPT, len(got))
    assert all(len(event.drafted) <= 2 for event in session.trace.of(RoundEvent))
    session.close()


def test_sessions_evict_each_other_and_come_back_different(tiny_engine):
    engine = tiny_engine("llama", slots=2)
    scripts = [tiny_script(VOCAB, new=9, seed=seed) for seed in range(4)]
    alone = []
    for script in scripts:
        session = engine.new_session(drafter="ngram", draft_len=5)
        alone.append([run_turn(session, suffix, new, 4, "drop") for suffix, new in script.turns])
        session.close()
    sessions = [engine.new_session(drafter="ngram", draft_len=5) for _ in scripts]
    for turn in range(3):
        for number, session in enumerate(sessions):
            suffix, new = scripts[number].turns[turn]
            assert run_turn(session, suffix, new, 4, "drop") == alone[number][turn]
    evicted = [event for session in sessions for event in session.trace if event.kind == "context"]
    assert {"evicted", "reprimed"} <= {event.action for event in evicted}
    for session in sessions:
        assert ForwardCounter.in_trace(session) > 0
        session.close()


def test_stop_waits_for_all_of_an_evicted_sessions_rows(tiny_engine):
    engine = tiny_engine("llama", slots=1)
    chunk, engine.prefill_chunk = engine.prefill_chunk, 8
    session, rival = engine.new_session(drafter="none"), engine.new_session(drafter="none")
    try:
        said = generate_spec_session(session, PROMPT * 4, 5, ignore_eos=True).tokens
        generate_spec_session(rival, PROMPT, 1, ignore_eos=True)
        before = (session.state, session.history, session.rewind_points())
        for suffix in ([], [50, 51]):
            counter = ForwardCounter(engine)
            polls = iter([True, True, False])
            burst = generate_spec_session(session, suffix, 5, ignore_eos=True, on_tokens=lambda _, p=polls: next(p))
            counter.remove()
            assert (burst.tokens, burst.reason) == ([], "cancelled")
            assert counter.count == 2, "the second poll after the first chunks was not heard"
            assert (session.state, session.history, session.rewind_points()) == before
        more = generate_spec_session(session, [], 9, ignore_eos=True).tokens
        assert said + more == PlainOracle(engine).continuation(PROMPT * 4, 14)
    finally:
        engine.prefill_chunk = chunk
        session.close()
        rival.close()


def test_two_sessions_in_two_threads_disturb_each_other(engine, oracle):
    scripts = [tiny_script(VOCAB, seed=seed) for seed in (40, 41)]
    said: dict[int, list[list[int]]] = {}

    def live(number):
        session = engine.new_session(drafter="ngram", draft_len=6)
        said[number] = [run_turn(session, suffix, new, 3, "drop") for suffix, new in scripts[number].turns]
        session.close()

    threads = [threading.Thread(target=live, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for number in (0, 1):
        history: list[int] = []
        for (suffix, new), got in zip(scripts[number].turns, said[number], strict=True):
            history += suffix
            assert got == oracle.continuation(history, new)
            history += got


def test_a_second_thread_on_the_same_session_corrupts_it(engine, oracle, session):
    inside, go = threading.Event(), threading.Event()
    result = []

    def slow(_tokens):
        inside.set()
        assert go.wait(30)
        return True

    def live():
        result.append(generate_spec_session(session, PROMPT, 12, ignore_eos=True, on_tokens=slow))

    thread = threading.Thread(target=live)
    thread.start()
    assert inside.wait(30)
    with pytest.raises(SessionStateError):
        generate_spec_session(session, [1, 2], 3)
    with pytest.raises(SessionStateError):
        spec_flush_pending(session)
    go.set()
    thread.join(60)
    assert result[0].tokens == oracle.continuation(PROMPT, len(result[0].tokens))


def test_a_callback_that_raises_loses_what_was_said(engine, oracle, session):
    def fall_over(new):
        if new:
            raise ValueError("the listener is gone")
        return True

    with pytest.raises(ValueError, match="listener"):
        generate_spec_session(session, PROMPT, 12, ignore_eos=True, on_tokens=fall_over)
    assert session.state in ("FRESH", "PENDING")
    history = session.history
    got = generate_spec_session(session, [] if history else PROMPT, 9, ignore_eos=True).tokens
    history = history or PROMPT
    assert got == oracle.continuation(history, len(got))


@pytest.mark.slow
def test_output_turns_to_garbage_after_some_hundred_tokens_of_bursts(tiny_engine):
    """Every short test passes on a cache that goes wrong at its first block edge, growth or wrap."""
    engine = tiny_engine("mistral", max_ctx=1000)
    oracle = PlainOracle(engine)
    session = engine.new_session(drafter="ngram", draft_len=7)
    said = generate_spec_session(session, PROMPT, 32, ignore_eos=True).tokens
    while len(said) < 900:
        said += generate_spec_session(session, [], 32, ignore_eos=True).tokens
    assert said == oracle.continuation(PROMPT, len(said))
    session.close()
