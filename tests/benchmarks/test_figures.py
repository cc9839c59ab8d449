"""The arithmetic of the figures, on passes made by hand."""

from __future__ import annotations

import pytest

from benchmarks.cost_model import CostModel
from benchmarks.figures import decode_speed, first_token_ms, group_figures, whole_speed
from benchmarks.passes import Pass, RoundSplit, TurnTimes
from engine import SpecTelemetry


def plain(step: float, first: float = 0.5) -> Pass:
    """Two turns of 5 tokens: `first` seconds to the first, `step` for each other."""
    turns = [TurnTimes([1, 2, 3, 4, 5], first, 1, first + 4 * step) for _ in range(2)]
    splits = [RoundSplit(0.0, step * 1e3, 0.0, 0.0)] * 8
    return Pass(turns, forwards=10, rounds=8, prefills=2, splits=splits, telem=SpecTelemetry(rounds=8, emitted=8))


def drafted(step: float) -> Pass:
    """The same tokens in half as many rounds of `step` seconds."""
    turns = [TurnTimes([1, 2, 3, 4, 5], 0.25, 1, 0.25 + 2 * step) for _ in range(2)]
    splits = [RoundSplit(1.0, step * 1e3 - 3.0, 1.5, 0.5)] * 4
    telem = SpecTelemetry(rounds=4, drafted=8, accepted=4, emitted=8)
    return Pass(turns, forwards=6, rounds=4, prefills=2, splits=splits, telem=telem)


def test_decode_leaves_out_the_first_token_and_whole_does_not():
    one = plain(0.1)
    assert decode_speed([one]) == pytest.approx(10.0)
    assert whole_speed([one]) == pytest.approx(10 / 1.8)
    assert first_token_ms([one, plain(0.1, first=1.5)], 0) == pytest.approx(1000.0)


def test_a_lookup_that_gives_several_tokens_at_first_is_not_credited_for_them_later():
    turn = TurnTimes([1, 2, 3, 4, 5], 0.5, 3, 0.7)
    assert decode_speed([Pass([turn])]) == pytest.approx(10.0)


def test_ratios_are_taken_repeat_by_repeat():
    # the machine is twice as slow in the second repeat, for both arms: the ratio stays
    passes = {
        "generate": [{"a": plain(0.1)}, {"a": plain(0.2)}, {"a": plain(0.1)}],
        "ngram-7": [{"a": plain(0.05)}, {"a": plain(0.1)}, {"a": plain(0.1)}],
    }
    generate, ngram = group_figures(passes, ["a"])
    assert generate["vs_generate"]["decode"] == {"median": 1, "least": 1, "most": 1}
    assert ngram["vs_generate"]["decode"]["median"] == pytest.approx(2.0)
    assert ngram["vs_generate"]["decode"]["least"] == pytest.approx(1.0)
    assert ngram["decode_tokens_per_s"] == pytest.approx({"median": 10.0, "least": 10.0, "most": 20.0})
    assert ngram["vs_lookup"] is None
    assert ngram["cost_model"] is None


def test_the_fastest_lookup_is_the_base():
    passes = {
        "lookup-3": [{"a": plain(0.2)}],
        "lookup-7": [{"a": plain(0.1)}],
        "plain": [{"a": plain(0.1)}],
    }
    rows = {row["arm"]: row for row in group_figures(passes, ["a"])}
    assert rows["lookup-3"]["vs_lookup"]["decode"]["median"] == pytest.approx(0.5)
    assert rows["plain"]["vs_lookup"]["decode"]["median"] == pytest.approx(1.0)


def test_the_cost_model_multiplies_tokens_per_round_by_the_ratio_of_the_steps():
    model = CostModel(tokens_per_round=2.5, plain_step_ms=40.0, round_ms=50.0, measured=1.9)
    assert model.predicted == pytest.approx(2.0)
    assert model.break_even == pytest.approx(1.25)


def test_the_cost_model_of_a_run_uses_the_plain_arm_and_the_round_of_the_trace():
    passes = {"plain": [{"a": plain(0.1)}], "ngram-7": [{"a": drafted(0.125)}]}
    row = group_figures(passes, ["a"])[1]
    cost = row["cost_model"]
    assert cost["tokens_per_round"] == pytest.approx(2.0)
    assert cost["plain_step_ms"] == pytest.approx(100.0)
    assert cost["round_ms"] == pytest.approx(125.0)
    assert cost["predicted"] == pytest.approx(1.6)
    assert cost["measured"] == pytest.approx(1.6)
    assert row["acceptance"] == pytest.approx(0.5)
    assert row["round_ms"] == pytest.approx({"draft": 1.0, "verify": 122.0, "accept": 1.5, "host": 0.5, "total": 125.0})


def test_a_text_that_differs_is_counted():
    other = plain(0.1)
    other.turns[1].tokens[3] = 9
    passes = {"plain": [{"a": plain(0.1), "b": plain(0.1)}], "ngram-7": [{"a": plain(0.1), "b": other}]}
    assert [row["same_text_as_plain"] for row in group_figures(passes, ["a", "b"])] == ["2/2", "1/2"]
