"""check_exact on sampled sessions: each token by the rule that chose it, what accept tests chose counted apart."""

from __future__ import annotations

import pytest

import engine.rules.coupled as coupled
from engine import (
    SamplingParams,
    check_exact,
    generate_spec_session,
    generate_spec_session_sampled,
    spec_flush_pending,
    spec_rewind_to_checkpoint,
)
from engine.take_back import take_back
from tests.engine.sampling.walks import walk

PROMPT = [5, 9, 14, 30, 7, 5, 9, 14]
WARM = SamplingParams(temperature=0.8, presence_penalty=0.3, top_k=50, seed=3)


def play(session, *modes):
    """One turn of 12 tokens or more for each mode, with a park and a way back between them."""
    for number, mode in enumerate(modes):
        suffix = PROMPT[number:]
        if mode == "greedy":
            generate_spec_session(session, suffix, 6, ignore_eos=True)
            generate_spec_session(session, [], 6, ignore_eos=True, overshoot="trim")
            continue
        for given, new in ((suffix, 5), ([], 7)):
            generate_spec_session_sampled(session, given, new, WARM, verify=mode, ignore_eos=True, overshoot="trim")
            spec_flush_pending(session)
    return session


def generated(session) -> list[int]:
    return [i for i, how in enumerate(session.chosen) if how is not None]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("drafter", ["ngram", "model"])
def test_coupled_tokens_are_compared_and_identical(tiny_engine, tiny_checkpoint, drafter, dtype):
    name = drafter if drafter == "ngram" else f"model:{tiny_checkpoint('llama')}"
    session = play(tiny_engine("llama", dtype).new_session(name), "coupled", "coupled")
    spec_rewind_to_checkpoint(session)
    generate_spec_session_sampled(session, [], 9, WARM, verify="coupled", ignore_eos=True)
    take_back(session, len(session.history) - 2)
    generate_spec_session_sampled(session, [], 4, WARM, verify="coupled", ignore_eos=True)
    event = check_exact(session)
    assert (event.identical, event.tokens, event.drawn) == (True, len(generated(session)), 0)
    session.close()


def test_rejection_tokens_are_counted_as_drawn(tiny_engine):
    session = play(tiny_engine("llama").new_session("ngram"), "rejection", "rejection")
    event = check_exact(session)
    assert (event.identical, event.tokens, event.drawn) == (True, 0, len(generated(session)))
    session.close()


def test_in_a_mixed_session_each_token_is_judged_by_its_own_rule(tiny_engine):
    session = play(tiny_engine("llama").new_session("ngram"), "greedy", "rejection", "coupled", "greedy")
    drawn = sum(how is not None and how[0].mode == "rejection" for how in session.chosen)
    event = check_exact(session)
    assert (event.identical, event.drawn) == (True, drawn) and drawn >= 12
    assert event.tokens == len(generated(session)) - drawn >= 36
    session.close()


def test_a_planted_difference_is_found_but_for_what_was_drawn(tiny_engine):
    """A drawn token could have been any; what follows it is judged with it in the history."""
    session = play(tiny_engine("llama").new_session("ngram"), "greedy", "rejection", "coupled")
    first = {mode: next(i for i, how in enumerate(session.chosen) if how and how[0].mode == mode) for mode in MODES}
    for mode in ("greedy", "coupled"):
        index, truth = first[mode], session.committed[first[mode]]
        session.committed[index] = truth ^ 1
        event = check_exact(session)
        assert (event.identical, event.index, event.expected, event.actual) == (False, index, truth, truth ^ 1)
        assert event.gap is not None and (mode == "coupled" or event.gap > 0)  # noise outweighs logits
        session.committed[index] = truth
    assert check_exact(session).identical
    last = max(i for i, how in enumerate(session.chosen) if how and how[0].mode == "rejection")
    session.committed[last] ^= 1
    assert check_exact(session).index in (None, first["coupled"]), "what was drawn is never itself a difference"
    session.close()


MODES = ("greedy", "rejection", "coupled")


def test_another_seed_or_setting_than_the_tokens_were_chosen_by_is_found(tiny_engine):
    session = play(tiny_engine("llama").new_session("ngram"), "coupled")
    real = list(session.chosen)
    for other in (
        coupled.CoupledRule(WARM, WARM.seed + 1),
        coupled.CoupledRule(SamplingParams(temperature=2.0, seed=3), 3),
    ):
        session.chosen = [None if how is None else (other, how[1]) for how in real]
        assert not check_exact(session).identical
    session.chosen = [None if how is None else (how[0], how[1] + 1) for how in real]
    assert not check_exact(session).identical
    session.chosen = real
    assert check_exact(session).identical
    session.close()


def test_a_coupled_round_that_accepts_a_wrong_draft_is_found(tiny_engine, monkeypatch):
    """Teeth: an accept rule that takes the first draft, whatever it is."""
    pick = coupled.pick
    real = coupled.outcome_of
    monkeypatch.setattr(
        coupled, "outcome_of", lambda drafts, n, token, stop: real(drafts, max(n, min(1, len(drafts))), token, stop)
    )
    session = play(tiny_engine("llama").new_session("ngram"), "coupled", "coupled")
    assert coupled.pick is pick and not check_exact(session).identical
    session.close()


def test_random_walks_are_exact():
    drawn = compared = 0
    for seed in range(20, 24):
        for walker in walk(seed, 90):
            event = check_exact(walker.session)
            assert event.identical
            drawn, compared = drawn + event.drawn, compared + event.tokens
    assert drawn > 20 and compared > 20
