"""The profile command runs on a tiny checkpoint and its shares add up."""

from __future__ import annotations

import pytest
import torch

from benchmarks import profile_round
from benchmarks.forward_times import threads_set_to
from benchmarks.operators import profile_runs
from engine.engine import PREFILL_CHUNK
from kernels import attention


def test_it_prints_both_profiles_and_the_widths(tiny_checkpoint, capsys):
    profile_round.main(
        f"--model {tiny_checkpoint('llama')} --context 48 --runs 2 --count 2 --top 4 --threads 1".split()
    )
    printed = capsys.readouterr().out
    titles = ("A round at width 8, ngram, 1 threads", "A plain step at width 1", f"A prefill of {PREFILL_CHUNK} tokens")
    for words in (*titles, "python", "transformers, sdpa"):
        assert words in printed
    for width in (1, 4, 8, 64):
        assert f"width {width}" in printed


def test_shares_add_up_and_attention_is_told_from_products(tiny_engine):
    session = profile_round._primed(tiny_engine("llama"), "ngram", 40)
    try:
        plain = attention.reference
        seen = profile_round._profiled(session, 2)
        assert attention.reference is plain
    finally:
        session.close()
    parts = seen.parts()
    assert sum(parts.values()) == pytest.approx(seen.wall_ms, rel=0.02)
    assert min(parts["products"], parts["attention"], parts["other"]) > 0
    layers = 3
    batched = [operator for operator in seen.operators if operator.name == "aten::bmm"]
    assert [operator.part for operator in batched] == ["attention"]
    assert batched[0].calls == 2 * layers


def test_a_run_that_does_nothing_costs_nothing_but_python():
    seen = profile_runs(lambda: None, 1)
    assert seen.operators == []
    assert seen.parts()["python"] == seen.wall_ms


def test_threads_are_put_back():
    before = torch.get_num_threads()
    with threads_set_to(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_numbers_below_one_are_refused(capsys):
    with pytest.raises(SystemExit):
        profile_round.main(["--runs", "0"])
    assert "at least 1" in capsys.readouterr().err
