"""The figures and sentences of made-up sweeps whose answers are known; two compared."""

from __future__ import annotations

import pytest

from playground.sweep.compare import compare
from playground.sweep.run import Machine, Run
from playground.sweep.summary import Spread, summary_of
from playground.sweep.verdict import verdict
from tests.playground.sweep_runs import MODEL, STEP_S, made_run, record


def test_speed_ups_are_ratios_within_a_repeat_with_quartiles_over_repeats():
    summary = summary_of(made_run({2: 1.5, 4: 2.0}))
    first, second = summary.cells
    assert first.speed_up == Spread(pytest.approx(1.5), pytest.approx(1.485), pytest.approx(1.515), 3)
    assert second.speed_up is not None and second.speed_up.median == pytest.approx(2.0)
    assert summary.best is second
    assert summary.plain_rate is not None and summary.plain_rate.median == pytest.approx(1 / STEP_S)
    assert (summary.plain_step_ms, summary.plain_width) == (pytest.approx(1e3 * STEP_S), 4)


def test_a_machine_that_slows_down_in_one_repeat_slows_both_sides_of_the_ratio():
    run = made_run({2: 1.5})
    slow = [
        p.model_copy(update={"decode_s": 3 * p.decode_s, "round_ms": 3 * p.round_ms}) if p.repeat == 1 else p
        for p in run.passes
    ]
    spread = summary_of(run.model_copy(update={"passes": slow})).cells[0].speed_up
    assert spread is not None
    assert (spread.median, spread.low, spread.high) == pytest.approx((1.5, 1.485, 1.515))


def test_acceptance_cost_model_and_texts():
    cell = summary_of(made_run({2: 1.5})).cells[0]
    assert cell.acceptance == 0.5 and (cell.same, cell.compared) == (2, 2)
    assert cell.cost is not None and cell.cost.tokens_per_round == 2
    assert cell.cost.break_even == pytest.approx(2 / 1.5)
    assert cell.cost.by_medians == pytest.approx(cell.cost.measured)
    run = made_run({2: 1.5})
    odd = run.passes[-1].model_copy(update={"text": "0" * 12})
    changed = summary_of(run.model_copy(update={"passes": [*run.passes[:-1], odd]}))
    assert (changed.cells[0].same, changed.cells[0].compared) == (1, 2)
    assert any("1 of 2 answers differ" in sentence for sentence in verdict(changed))


def test_a_sweep_cut_short_compares_only_what_both_have_measured():
    run = made_run({2: 1.5, 4: 2.0}, repeats=1)
    part = [p for p in run.passes if p.prompt == 0 and p.arm != 2]
    part.append(record(1, 1, 0, 9.0))  # plain decoding never measured this prompt
    summary = summary_of(run.model_copy(update={"passes": part, "complete": False}))
    assert summary.cells[0].speed_up == Spread(*[pytest.approx(1.5)] * 3, 1)
    assert summary.cells[1].speed_up is None
    assert verdict(summary_of(run.model_copy(update={"passes": []}))) == ["Nothing has been compared yet."]
    plain_only = [p for p in run.passes if p.arm == 0]
    assert verdict(summary_of(run.model_copy(update={"passes": plain_only}))) == ["Nothing has been compared yet."]


def test_answers_of_one_token_have_no_speed():
    run = made_run({2: 1.5}, repeats=1)
    short = [p.model_copy(update={"tokens": 1, "decoded": 0, "decode_s": 0.0, "rounds": 0}) for p in run.passes]
    assert summary_of(run.model_copy(update={"passes": short})).best is None


def test_the_verdict_names_the_best_setting_and_what_is_as_good():
    says = verdict(summary_of(made_run({2: 1.5, 4: 2.0, 7: 2.01})))
    assert says[0] == (
        "Best: n-gram lookup at K = 7, 2.01× as fast as plain decoding (1.99× to 2.03× in the middle half of 3 "
        "repeats)."
    )
    assert says[1].startswith("2.00 tokens a round × 40.0 ms a plain step ÷ 39.8 ms a round = 2.01× by median times")
    assert "Within the spread, as good: n-gram lookup at K = 4." in says
    assert any(text.startswith("Best by kind of prompt: chat 2.01× (ngram, K = 7)") for text in says)
    assert "Every setting gave the tokens of plain decoding, prompt by prompt." in says
    assert any("width 4" in text for text in says)


def test_the_verdict_says_why_speculation_loses():
    says = verdict(summary_of(made_run({1: 0.9, 2: 0.8})))
    assert says[0].startswith("Plain decoding is best here: the closest, n-gram lookup at K = 1, is 0.90× as fast")
    assert says[1] == (
        "Speculation loses because 2.00 tokens a round do not pay for a round that takes 2.22 times as long as a plain "
        "step; 2.22 tokens a round would break even."
    )
    assert any("chat plain, list plain" in text for text in says)


def test_the_verdict_does_not_overstate():
    assert verdict(summary_of(made_run({1: 1.001})))[0].startswith("No setting clearly beats plain decoding")
    once = verdict(summary_of(made_run({1: 1.4}, repeats=1)))[0]
    assert once.endswith("(one repeat, so how much it wavers is not known).")


def test_comparing_shows_what_changed_and_whether_it_is_more_than_noise():
    before = made_run({2: 1.5, 4: 2.0})
    after = made_run({2: 1.501, 4: 2.5, 7: 3.0}, id="f" * 16)
    result = compare(before, after)
    assert [(c.draft_len, round(c.difference, 2), c.apart) for c in result.changes] == [(2, 0.0, False), (4, 0.5, True)]
    assert result.notes == ()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model": MODEL.model_copy(update={"name": "other"})}, "The models differ: fake/words, then other."),
        ({"model": MODEL.model_copy(update={"dtype": "bfloat16"})}, "float32 on cpu, then bfloat16 on cpu"),
        (
            {"machine": Machine(processor="B", cores=1, threads=1, system="", gpu="G")},
            "Abacus 9, 2 threads, then G, 1 threads",
        ),
        ({"versions": {"torch": "2.14"}}, "The software differs: torch 2.13, then 2.14."),
        ({"max_new": 64}, "at most 48 tokens, then of 64"),
        ({"id": "0123456789abcdef"}, "the same sweep twice"),
    ],
)
def test_comparing_notes_what_else_differs(change, says):
    after = made_run({2: 1.5}, **({"id": "f" * 16} | change))
    assert any(says in note for note in compare(made_run({2: 1.5}), after).notes)


def test_comparing_notes_other_prompts_and_nothing_in_common():
    run: Run = made_run({2: 1.5})
    prompts = [run.prompts[0], run.prompts[1].model_copy(update={"fingerprint": "a" * 12})]
    assert "The prompts differ" in compare(run, made_run({2: 1.5}, id="f" * 16, prompts=prompts)).notes[0]
    assert compare(run, made_run({4: 1.5}, id="f" * 16)).notes[0] == "The two have no setting in common."
