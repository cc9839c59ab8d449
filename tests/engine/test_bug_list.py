"""Faults that speculative sessions are known to have had elsewhere, each named by what a user would have seen."""

from __future__ import annotations

import threading

import pytest
import torch

from engine import (
    ContextFull,
    EngineError,
    SessionStateError,
    generate_spec_session,
    spec_flush_pending,
    spec_rewind_to_checkpoint,
)
from engine.events import RoundEvent
from tests.factories import VOCAB
from tests.forwards import ForwardCounter
from tests.oracle import PlainOracle
from tests.scripts import GarbageDrafter, run_turn, tiny_script

PROMPT = list(tiny_script(VOCAB, seed=12).turns[0][0])


@pytest.fixture(scope="module")
def engine(tiny_engine):
    return tiny_engine("llama")


@pytest.fixture(scope="module")
def oracle(engine):
    return PlainOracle(engine)


@pytest.fixture
def session(engine):
    session = engine.new_session(drafter="ngram", draft_len=7)
    yield session
    session.close()


def right_drafter(oracle):
    """Every draft is right, so every round is a full accept and overshoots all it can."""

    def truth(history, count):
        return oracle.continuation(history, count) if count else []

    return GarbageDrafter(VOCAB, right=1.0, truth=truth)


# --- bursts and the carried token ---------------------------------------------------------------------------


def test_second_turn_starts_one_token_off_after_overshoot(engine, oracle):
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=7)
    history = list(PROMPT)
    burst = generate_spec_session(session, PROMPT, 10, ignore_eos=True)
    assert burst.overshoot > 0
    assert burst.visible == 10
    history += burst.tokens
    second = generate_spec_session(session, [50, 51, 52], 10, ignore_eos=True)
    history += [50, 51, 52]
    assert second.tokens == oracle.continuation(history, len(second.tokens))
    assert session.cache_len() == len(session.committed) == len(history) + len(second.tokens) - 1
    session.close()


def test_continuation_repeats_or_skips_a_token_after_a_full_accept(engine, oracle):
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=3)
    said = []
    for budget in (5, 1, 4, 8, 3, 1, 1, 2):
        said += generate_spec_session(session, [] if said else PROMPT, budget, ignore_eos=True).tokens
    assert said == oracle.continuation(PROMPT, len(said))
    session.close()


@pytest.mark.parametrize("budget", [0, 5], ids=["no_budget", "stopped_at_once"])
def test_a_burst_without_a_round_doubles_or_loses_the_carried_token(engine, oracle, session, budget):
    said = generate_spec_session(session, PROMPT, 4, ignore_eos=True).tokens
    carried, committed, events = session.pending_tok, list(session.committed), len(session.trace.of(RoundEvent))
    counter = ForwardCounter(engine)
    for _ in range(4):
        burst = generate_spec_session(session, [], budget, on_tokens=lambda _: False)
        assert burst.tokens == []
        assert burst.reason == ("length" if budget == 0 else "cancelled")
        assert session.pending_tok == carried
        assert session.committed == committed
    assert counter.count == 0
    counter.remove()
    assert len(session.trace.of(RoundEvent)) == events
    said += generate_spec_session(session, [], 9, ignore_eos=True).tokens
    assert said == oracle.continuation(PROMPT, len(said))


def test_max_new_zero_still_emits_a_token_or_eats_the_prompt(engine, session):
    counter = ForwardCounter(engine)
    burst = generate_spec_session(session, PROMPT, 0)
    assert burst.tokens == []
    assert session.state == "FRESH"
    assert session.history == []
    assert counter.count == 0
    counter.remove()


def test_double_feed_on_resume_of_a_parked_session(engine, oracle, session):
    said = generate_spec_session(session, PROMPT, 7, ignore_eos=True).tokens
    spec_flush_pending(session)
    spec_flush_pending(session)
    assert session.state == "PREDICTED"
    assert session.history == PROMPT + said
    more = generate_spec_session(session, [], 9, ignore_eos=True).tokens
    assert said + more == oracle.continuation(PROMPT, len(said) + len(more))
    spec_flush_pending(session)
    history = session.history
    again = generate_spec_session(session, [60, 61], 5, ignore_eos=True).tokens
    assert again == oracle.continuation([*history, 60, 61], len(again))


def test_parking_between_bursts_leaves_a_mark_on_the_stream(engine, oracle):
    session = engine.new_session(drafter="ngram", draft_len=5)
    said = generate_spec_session(session, PROMPT, 5, ignore_eos=True, overshoot="trim").tokens
    for budget in (1, 6, 2, 9, 1):
        spec_flush_pending(session)
        said += generate_spec_session(session, [], budget, ignore_eos=True, overshoot="trim").tokens
    assert said == oracle.continuation(PROMPT, 24)
    session.close()


def test_more_tokens_are_shown_than_were_asked_for(engine, oracle):
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=7)
    first = generate_spec_session(session, PROMPT, 3, ignore_eos=True, overshoot="trim")
    assert (len(first.tokens), first.visible, first.overshoot) == (3, 3, 0)
    trimmed = [event for event in session.trace if event.kind == "overshoot" and event.action == "trimmed"]
    assert len(trimmed[-1].tokens) > 0
    second = generate_spec_session(session, [], 4, ignore_eos=True)
    assert second.visible == 4
    assert second.overshoot == len(second.tokens) - 4
    session.close()


def test_first_text_waits_for_the_whole_burst(session):
    rounds_before = []
    generate_spec_session(
        session,
        PROMPT,
        20,
        ignore_eos=True,
        on_tokens=lambda new: rounds_before.append((len(new), session.telem.rounds)) or True,
    )
    assert rounds_before[0] == (0, 0)
    first = next(item for item in rounds_before if item[0])
    assert first == (1, 0), "the first token came with or after a round"
    assert all(count <= 8 for count, _ in rounds_before)


def test_a_stopped_client_keeps_the_model_busy(engine, session):
    counter = ForwardCounter(engine)
    at_stop = []

    def stop(new):
        if len(session.history) > len(PROMPT) + 3:
            at_stop.append(counter.count)
            return False
        return True

    burst = generate_spec_session(session, PROMPT, 200, ignore_eos=True, on_tokens=stop)
    assert burst.reason == "cancelled"
    assert [counter.count] == at_stop
    counter.remove()


# --- end of turn --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(12))
@pytest.mark.parametrize("overshoot", ["keep", "trim"])
def test_text_after_the_end_of_turn_gets_into_the_session(engine, oracle, place, overshoot):
    future = oracle.continuation(PROMPT, 20)
    stop = future[place]
    until = future[: future.index(stop) + 1]
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=6)
    burst = generate_spec_session(session, PROMPT, 16, stop_ids={stop}, overshoot=overshoot)
    assert burst.tokens == until
    assert burst.reason == "stop"
    assert burst.overshoot == 0
    assert session.state == "PENDING"
    assert session.pending_tok == stop
    assert session.committed == PROMPT + until[:-1]
    accepted = sum(event.accepted for event in session.trace.of(RoundEvent))
    assert accepted <= len(until) - 1, "drafts after the end of turn were counted as accepted"
    empty = generate_spec_session(session, [], 5, stop_ids={stop})
    assert (empty.tokens, empty.reason) == ([], "stop")
    assert session.pending_tok == stop
    going_on = generate_spec_session(session, [], 5, stop_ids={stop}, ignore_eos=True).tokens
    assert until + going_on == oracle.continuation(PROMPT, len(until) + len(going_on))
    session.close()


def test_an_end_of_turn_in_the_overshoot_is_shown_too_early_or_lost(engine, oracle):
    future = oracle.continuation(PROMPT, 12)
    place = next(i for i in range(5, 9) if future[i] not in future[:i])
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=7)
    budget = place - 1
    burst = generate_spec_session(session, PROMPT, budget, stop_ids={future[place]})
    assert burst.reason == "length"
    assert burst.tokens == future[: place + 1]
    assert generate_spec_session(session, [], 4, stop_ids={future[place]}).reason == "stop"
    session.close()
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=7)
    burst = generate_spec_session(session, PROMPT, budget, stop_ids={future[place]}, overshoot="trim")
    assert (burst.tokens, burst.reason) == (future[:budget], "length")
    rest = generate_spec_session(session, [], 9, stop_ids={future[place]}, overshoot="trim")
    assert (rest.tokens, rest.reason) == (future[budget : place + 1], "stop")
    session.close()


def test_an_end_of_turn_is_forgotten_by_parking(engine, oracle, session):
    stop = oracle.continuation(PROMPT, 3)[-1]
    generate_spec_session(session, PROMPT, 9, stop_ids={stop})
    spec_flush_pending(session)
    burst = generate_spec_session(session, [], 9, stop_ids={stop})
    assert (burst.tokens, burst.reason) == ([], "stop")


def test_a_prompt_that_ends_with_a_stop_id_is_taken_for_an_ended_turn(engine, oracle, session):
    prompt = [*PROMPT, 2]
    want = oracle.continuation(prompt, 6)
    assert 2 not in want
    assert generate_spec_session(session, prompt, 6, stop_ids={2}, overshoot="trim").tokens == want
    spec_rewind_to_checkpoint(session)
    assert generate_spec_session(session, [], 6, stop_ids={2}, overshoot="trim").tokens == want


def test_the_checkpoints_own_end_of_turn_ids_are_the_default(engine, oracle):
    assert engine.tokenizer.convert_tokens_to_ids("<|im_end|>") in engine.stop_ids
    session = engine.new_session(drafter="none")
    for seed in range(200):
        prompt = list(tiny_script(VOCAB, seed=seed).turns[0][0])
        future = oracle.continuation(prompt, 12)
        if engine.stop_ids & set(future):
            break
    else:
        pytest.fail("no tiny prompt reaches an end of turn; choose other seeds")
    burst = generate_spec_session(session, prompt, 12)
    assert burst.reason == "stop"
    assert burst.tokens[-1] in engine.stop_ids
    assert burst.tokens == future[: len(burst.tokens)]
    session.close()


# --- rewind points ------------------------------------------------------------------------------------------


def test_a_rewind_point_holds_a_generated_token(engine, oracle, session):
    generate_spec_session(session, PROMPT, 6, ignore_eos=True)
    assert session.rewind_pos() == len(PROMPT)
    before = session.history
    generate_spec_session(session, [70, 71, 72, 73], 5, ignore_eos=True, checkpoint_at=len(before) + 2)
    assert session.rewind_points() == [len(PROMPT), len(before) + 2, len(before) + 4]
    generate_spec_session(session, [], 5, ignore_eos=True)
    assert session.rewind_pos() == len(before) + 4, "a continuation moved the point"


def test_a_rewritten_answer_never_meets_a_rewind_point(engine, oracle, session):
    """The next prompt repeats the last one up to the live assistant header: the point before it must serve."""
    header = len(PROMPT) - 3
    first = generate_spec_session(session, PROMPT, 8, ignore_eos=True, checkpoint_at=header).tokens
    counter = ForwardCounter(engine)
    assert spec_rewind_to_checkpoint(session, header) == header
    assert counter.count == 0
    counter.remove()
    rewritten = [80, *first[2:5], 81, 82]
    got = generate_spec_session(session, rewritten, 8, ignore_eos=True, overshoot="trim").tokens
    assert got == oracle.continuation(PROMPT[:header] + rewritten, 8)


def test_regenerating_needs_a_forward_or_says_something_else(engine, oracle, session):
    first = generate_spec_session(session, PROMPT, 9, ignore_eos=True, overshoot="trim").tokens
    for _ in range(3):
        counter = ForwardCounter(engine)
        assert spec_rewind_to_checkpoint(session) == len(PROMPT)
        assert counter.count == 0
        counter.remove()
        assert session.next_pred == first[0]
        assert generate_spec_session(session, [], 9, ignore_eos=True, overshoot="trim").tokens == first


def test_a_refused_rewind_does_not_say_why(engine, session):
    generate_spec_session(session, PROMPT, 4, ignore_eos=True)
    with pytest.raises(SessionStateError) as refusal:
        spec_rewind_to_checkpoint(session, 5)
    assert "5" in str(refusal.value)
    assert str(len(PROMPT)) in str(refusal.value), "the message does not name the point that is there"


def test_random_counters_run_backwards_on_rewind(session):
    generate_spec_session(session, PROMPT, 4, ignore_eos=True)
    session.sctr, session.uctr = 11, 7
    spec_rewind_to_checkpoint(session)
    assert (session.sctr, session.uctr) == (11, 7)


# --- context ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draft_len", [1, 4, 7])
@pytest.mark.parametrize("drafter", ["none", "right"])
def test_a_burst_writes_past_the_end_of_the_context(tiny_engine, engine, oracle, drafter, draft_len):
    small = tiny_engine("llama", max_ctx=40)
    proposer = right_drafter(oracle) if drafter == "right" else drafter
    session = small.new_session(drafter=proposer, draft_len=draft_len)
    burst = generate_spec_session(session, PROMPT, 500, ignore_eos=True)
    assert burst.reason == "context"
    assert len(session.committed) == 40
    assert len(session.history) == 41
    assert burst.tokens == oracle.continuation(PROMPT, len(burst.tokens)), "a smaller context changed the text"
    with pytest.raises(ContextFull) as full:
        generate_spec_session(session, [], 5, ignore_eos=True)
    assert full.value.max_ctx == 40
    with pytest.raises(ContextFull):
        generate_spec_session(session, [5], 5, ignore_eos=True)
    assert session.state == "PENDING"
    spec_rewind_to_checkpoint(session)
    again = generate_spec_session(session, [], 500, ignore_eos=True)
    assert again.tokens == burst.tokens
    session.close()


def test_a_prompt_that_just_fits_is_refused_or_one_too_long_accepted(tiny_engine, oracle):
    small = tiny_engine("llama", max_ctx=40)
    prompt = (PROMPT * 3)[:40]
    session = small.new_session(drafter="ngram", draft_len=7)
    with pytest.raises(ContextFull):
        generate_spec_session(session, [*prompt, 9], 3)
    assert session.state == "FRESH"
    burst = generate_spec_session(session, prompt, 3, ignore_eos=True)
    assert burst.tokens == oracle.continuation(prompt, 1)
    assert burst.reason == "context"
    session.close()


# --- numerics -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["llama", "mistral", "gemma"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_prefill_chunk_changes_what_a_row_holds(tiny_engine, arch, dtype):
    engine = tiny_engine(arch, dtype)
    prompt = (PROMPT * 6)[:83]
    hidden, tokens = [], []
    before = engine.prefill_chunk
    try:
        for chunk in (1, 3, 8, 17, 64, 256):
            engine.prefill_chunk = chunk
            session = engine.new_session(drafter="none")
            tokens.append(generate_spec_session(session, prompt, 12, ignore_eos=True).tokens)
            hidden.append(session.last_h.clone())
            session.close()
    finally:
        engine.prefill_chunk = before
    assert all(torch.equal(hidden[0], other) for other in hidden[1:])
    assert all(tokens[0] == other for other in tokens[1:])


def test_a_session_that_lived_differs_from_one_primed_with_its_tokens(engine):
    """Rows written by rounds, by prefill after a carry, by a flush: all must be the rows a fresh prefill writes."""
    session = engine.new_session(drafter=GarbageDrafter(VOCAB, seed=3), draft_len=7)
    for suffix, new in tiny_script(VOCAB, seed=8).turns:
        run_turn(session, suffix, new, 5, "keep")
        spec_flush_pending(session)
        run_turn(session, (), 4, 3, "trim")
    spec_flush_pending(session)
    fresh = engine.new_session(drafter="none")
    first = generate_spec_session(fresh, session.committed, 1, ignore_eos=True).tokens[0]
    assert first == session.next_pred
    assert torch.equal(fresh.last_h, session.last_h)
    session.close()
    fresh.close()


def test_last_hidden_is_not_the_predecessor_of_the_carried_token(engine):
    session = engine.new_session(drafter=GarbageDrafter(VOCAB), draft_len=7)
    generate_spec_session(session, PROMPT, 9, ignore_eos=True)
    for budget in (1, 2, 7):
        generate_spec_session(session, [], budget, ignore_eos=True)
        assert session.state == "PENDING"
        fresh = engine.new_session(drafter="none")
        generate_spec_session(fresh, session.committed, 1, ignore_eos=True)
        assert torch.equal(fresh.last_h, session.last_h)
        fresh.close()
    session.close()


# --- robustness ---------------------------------------------------------------------------------------------


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
