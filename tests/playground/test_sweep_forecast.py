"""The sweep's cost model: it finds the numbers that made the data, and is wrong where the data follow another law."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.sweep.forecast import Measured, forecast, left_out
from playground.sweep.forecast_words import words
from playground.sweep.summary import summary_of
from tests.playground.sweep_runs import made_run

PLAIN_MS = 40.0
ROUNDS = 100_000


def cell(k: int, *, share: float = 1.0, keep: float = 0.7, base: float = 42.0, slope: float = 1.0) -> Measured:
    """What the model says one setting measures."""
    accepted = ROUNDS * share * sum(keep**i for i in range(1, k + 1))
    return Measured(k, ROUNDS, round(ROUNDS * share * k), round(accepted), base + slope * k)


@given(
    share=st.floats(0.2, 1.0), keep=st.floats(0.05, 0.95), slope=st.floats(0.0, 5.0),
    lengths=st.lists(st.integers(1, 15), min_size=2, max_size=6, unique=True),
)  # fmt: skip
def test_the_numbers_that_made_the_data_are_found(share: float, keep: float, slope: float, lengths: list[int]) -> None:
    cells = [cell(k, share=share, keep=keep, slope=slope) for k in lengths]
    model = forecast(cells, PLAIN_MS)
    assert model is not None
    assert (model.share, model.keep) == pytest.approx((share, keep), abs=2e-3)
    assert (model.base_ms, model.draft_ms) == pytest.approx((42.0, slope), abs=1e-6)
    for k, said in left_out(cells, PLAIN_MS).items():
        measured = next(c for c in cells if c.draft_len == k)
        true = (1 + measured.accepted / measured.rounds) * PLAIN_MS / measured.round_ms
        assert said == pytest.approx(true, rel=0.01), "a setting foretold from the others"


def test_rounds_that_are_played_out_give_the_same_numbers() -> None:
    dice = random.Random(5)
    cells = [_played(dice, k, share=0.6, keep=0.8) for k in (1, 3, 6)]
    model = forecast(cells, PLAIN_MS)
    assert model is not None and (model.share, model.keep) == pytest.approx((0.6, 0.8), abs=0.01)


def _played(dice: random.Random, k: int, *, share: float, keep: float) -> Measured:
    drafted = accepted = 0
    for _ in range(20_000):
        if dice.random() < share:
            drafted += k
            accepted += next((i for i in range(k) if dice.random() >= keep), k)
    return Measured(k, 20_000, drafted, accepted, 42.0)


def test_data_of_another_law_are_foretold_wrongly() -> None:
    """Drafts that are never kept past the second: a model of one chance for all positions must miss K = 7."""
    cells = [Measured(k, ROUNDS, ROUNDS * k, round(ROUNDS * 0.9 * min(k, 2)), 42.0 + k) for k in (1, 2, 7)]
    true = (1 + 1.8) * PLAIN_MS / 49.0
    assert left_out(cells, PLAIN_MS)[7] > 1.3 * true


def test_the_best_k_lies_where_another_draft_no_longer_pays() -> None:
    cells = [cell(k, keep=0.6, slope=4.0) for k in (1, 7)]
    model = forecast(cells, PLAIN_MS)
    assert model is not None
    best = model.best(15)
    assert 1 < best < 15 and all(model.speed_up(best) >= model.speed_up(k) for k in range(1, 16))
    free = forecast([cell(k, slope=0.0) for k in (1, 7)], PLAIN_MS)
    assert free is not None and free.best(9) == 9, "drafts that cost nothing never stop to pay"


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [cell(3)],
        [cell(3), cell(3)],
        [Measured(k, 10, 0, 0, 40.0) for k in (1, 2)],
        [Measured(k, 0, 0, 0, 0.0) for k in (1, 2)],
    ],
    ids=["nothing", "one", "one K", "no drafts", "no rounds"],
)
def test_too_little_gives_no_model(cells: list[Measured]) -> None:
    assert forecast(cells, PLAIN_MS) is None and left_out(cells, PLAIN_MS) == {}
    assert forecast([cell(1), cell(2)], 0.0) is None


def test_a_summary_has_a_model_for_each_drafter_and_says_it_in_words() -> None:
    summary = summary_of(made_run({1: 1.2, 2: 1.5, 4: 1.6}))
    model = summary.forecasts["ngram"]
    assert all(found.foretold is not None for found in summary.cells)
    said = words("ngram", model, [1, 2, 4])
    assert said.startswith("n-gram lookup: ") and f"K = {model.best(4)}, {model.speed_up(model.best(4)):.2f}×" in said
    lone = summary_of(made_run({2: 1.5}))
    assert lone.forecasts == {} and lone.cells[0].foretold is None
    slow = forecast([cell(k, keep=0.05, base=80.0) for k in (1, 7)], PLAIN_MS)
    assert slow is not None and words("ngram", slow, [1, 7]).endswith("no K would pay.")
