"""One draw per row: the token whose stretch of the cumulative mass holds u, and rows that cannot be drawn from."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernels import categorical
from kernels.status import Status
from tests.kernels.forms import FORMS, assert_same, load

LARGEST_U = 1 - 2**-24


def _holds(probs: list[float], u: float, token: int) -> bool:
    """The definition in exact arithmetic: the mass before the token is at most u * total, with it more."""
    mass = [Fraction(p) for p in probs]
    target = Fraction(u) * sum(mass)
    return mass[token] > 0 and sum(mass[:token]) <= target < sum(mass[: token + 1])


@pytest.mark.parametrize("form", FORMS)
def test_cuts_the_line_in_order(form):
    probs = torch.tensor([[0.0, 0.5, 0.0, 0.25, 0.25, 0.0]]).expand(6, 6)
    u = torch.tensor([0.0, 0.25, 0.5, 0.74, 0.75, LARGEST_U])
    token, status = load("categorical", form)(probs, u)
    assert token.tolist() == [1, 1, 3, 3, 4, 4] and status.tolist() == [Status.OK] * 6


weights = st.one_of(st.just(0.0), st.integers(1, 64).map(lambda n: n / 8))


@settings(max_examples=200, deadline=None)
@given(st.lists(weights, min_size=1, max_size=9).filter(any), st.integers(0, 2**10 - 1).map(lambda n: n / 2**10))
def test_any_row_and_any_u_meet_the_definition(probs, u):
    """Numbers whose sums are exact in fp64, so that boundaries are hit on the point."""
    token, status = categorical.reference(torch.tensor([probs]), torch.tensor([u]))
    assert status.tolist() == [Status.OK] and _holds(probs, u, int(token))


def test_the_definition_tells_a_boundary_drawn_from_the_wrong_side():
    """Teeth: `>=` in place of `>`, which gives a token of probability 0 to u = 0."""
    probs, u = [0.0, 0.5, 0.5], [0.0, 0.5]
    upto = torch.tensor(probs).cumsum(0)
    wrong = [int((upto >= x).byte().argmax()) for x in u]
    assert wrong == [0, 1] and not any(_holds(probs, x, token) for x, token in zip(u, wrong, strict=True))


def _hard_rows(vocab: int) -> Tensor:
    """A flat row, a peaked one, one-hot at both ends, tiny mass, half removed."""
    generator = torch.Generator().manual_seed(vocab)
    rows = torch.rand(6, vocab, generator=generator)
    rows[1] = (rows[1] * 60).softmax(-1)
    rows[2:5] = 0.0
    rows[2, 0] = rows[3, -1] = 1.0
    rows[4, vocab // 2] = 1e-38
    rows[5, ::2] = 0.0
    rows[5, -1] = 0.5
    return rows


@pytest.mark.parametrize("vocab", [1, 2, 63, 4095, 4096, 4097, 9001])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_fused_draws_the_same_tokens(vocab, dtype):
    rows = _hard_rows(vocab)
    rows[4, vocab // 2] = torch.finfo(dtype).smallest_normal
    rows = rows.to(dtype).repeat(4, 1)
    u = torch.rand(len(rows), generator=torch.Generator().manual_seed(1))
    u[:6], u[6:12] = 0.0, LARGEST_U
    expected = categorical.reference(rows, u)
    assert bool((rows.gather(1, expected[0][:, None]) > 0).all())
    assert_same(load("categorical", "fused")(rows, u), expected)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("at", [0, 5, 4500])
def test_unusable_rows_are_named_and_give_token_0(form, at):
    rows = torch.rand(5, 5000, generator=torch.Generator().manual_seed(3))
    rows[1, at] = float("nan")
    rows[2, at] = float("inf")
    rows[3] = 0.0
    token, status = load("categorical", form)(rows, torch.full((5,), 0.9))
    assert status.tolist() == [Status.OK, Status.NOT_FINITE, Status.NOT_FINITE, Status.NO_MASS, Status.OK]
    assert token[1:4].tolist() == [0, 0, 0] and int(token[0]) > 0 and int(token[4]) > 0


@pytest.mark.parametrize("form", FORMS)
def test_rows_may_share_memory_or_be_absent(form):
    draw, row = load("categorical", form), torch.tensor([0.25, 0.75])
    assert draw(row.expand(3, 2), torch.tensor([0.1, 0.24, 0.26]))[0].tolist() == [0, 0, 1]
    assert draw(row.expand(0, 2), torch.zeros(0))[0].shape == (0,)


def test_mass_is_summed_in_double_precision():
    """After a half, 10^5 equal crumbs: an fp32 sum drops every one of them."""
    row = torch.full((1, 100_001), 2**-26)
    row[0, 0] = 0.5
    u = torch.tensor([0.5 / float(row.double().sum()) + 2**-12])
    token = int(categorical.reference(row, u)[0])
    assert token > 5_000
    assert int((row.cumsum(-1) > u * row.cumsum(-1)[:, -1]).byte().argmax()) != token
