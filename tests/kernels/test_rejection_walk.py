"""The rejection walk against a loop over one round at a time; its distribution is tested in test_distribution.py."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from kernels import rejection_walk
from kernels.status import Status
from tests.kernels.forms import FORMS, assert_same, load


def _loop(p: Tensor, drafts: Tensor, q: Tensor | None, u_accept: Tensor, u_draw: Tensor) -> list[tuple[int, int, int]]:
    """(accepted, token, tests) of each round, in doubles."""
    walks = []
    for b in range(len(drafts)):
        accepted = tests = 0
        weights: list[float] | None = None
        for i, x in enumerate(drafts[b].tolist()):
            if x < 0:
                break
            tests += 1
            row = p[b, i].tolist()
            other = [float(v == x) for v in range(len(row))] if q is None else q[b, i].tolist()
            if float(u_accept[b, i]) * other[x] < row[x]:
                accepted += 1
                continue
            weights = [
                0.0 if q is None and v == x else max(0.0, a - c)
                for v, (a, c) in enumerate(zip(row, other, strict=True))
            ]
            weights = weights if sum(weights) > 0 else row
            break
        weights = weights or p[b, accepted].tolist()
        target, upto, token = float(u_draw[b]) * sum(weights), 0.0, -1
        while upto <= target:
            token += 1
            upto += weights[token]
        walks.append((accepted, token, tests))
    return walks


def _rounds(batch: int, count: int, vocab: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Distributions with removed tokens, one-hot rows, rows with q = p; drafts from q, some missing."""
    generator = torch.Generator().manual_seed(seed * 1000 + vocab)
    scores = torch.randn(batch, count + 1, vocab, generator=generator) * 2
    noise = torch.randn(batch, count, vocab, generator=generator)
    if vocab > 3:
        scores[:, :, 2] = -math.inf
        scores[::7, :, :-1] = -math.inf
        noise[1::3] = -math.inf
        noise[1::3, :, 1] = 0.0
        noise[2::3] = 0.0
    p = scores.softmax(-1)
    q = (scores[:, :count].clamp_min(-9) + noise).softmax(-1)
    q[2::3] = p[2::3, :count]
    drafts = (
        torch.multinomial(q.reshape(-1, vocab), 1, generator=generator).view(batch, count)
        if count
        else torch.zeros(batch, 0, dtype=torch.long)
    )
    drafts[4::5, count // 2 :] = -1
    u_accept = torch.rand(batch, count, generator=generator)
    return p, drafts, q, u_accept, torch.rand(batch, generator=generator)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("point_mass", [False, True])
@pytest.mark.parametrize(("batch", "count", "vocab"), [(60, 3, 7), (20, 0, 5), (5, 1, 1), (8, 7, 64), (9, 2, 4099)])
def test_equals_a_loop(form, point_mass, batch, count, vocab):
    p, drafts, q, u_accept, u_draw = _rounds(batch, count, vocab)
    other = None if point_mass else q
    walk = load("rejection_walk", form)(p, drafts, other, u_accept, u_draw)
    found = list(zip(walk.accepted.tolist(), walk.token.tolist(), walk.tests.tolist(), strict=True))
    assert found == _loop(p, drafts, other, u_accept, u_draw) and not walk.status.any()
    assert bool((p[torch.arange(batch), walk.accepted, walk.token] > 0).all())


def test_the_loop_tells_a_test_that_lets_equality_pass():
    """Teeth: `<=` accepts a draft that the trunk gives no probability at all."""
    p, q = torch.tensor([[[0.0, 1.0], [0.5, 0.5]]]), torch.tensor([[[1.0, 0.0]]])
    draft, zero, half = torch.tensor([[0]]), torch.zeros(1, 1), torch.full((1,), 0.5)
    assert _loop(p, draft, q, zero, half) == [(0, 1, 1)]
    walk = rejection_walk.reference(p, draft, q, zero, half)
    assert (walk.accepted.item(), walk.token.item()) == (0, 1) and bool(zero * q[0, 0, 0] <= p[0, 0, 0])


@pytest.mark.parametrize("form", FORMS)
def test_the_residual_is_drawn_from_and_p_where_there_is_none(form):
    p = torch.tensor([0.5, 0.3, 0.2]).expand(4, 2, 3)
    q = torch.tensor([[0.7, 0.3, 0.0], [0.5, 0.3, 0.2], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]])[:, None]
    walk = load("rejection_walk", form)(
        p, torch.tensor([[0], [0], [1], [2]]), q, torch.full((4, 1), 1 - 2**-24), torch.tensor([0.0, 0.6, 0.7, 0.65])
    )
    # Only token 2 is left; q = p is always accepted, the bonus is p's; 0.3 and 0.2 are left, and so are 0.5 and 0.3.
    assert walk.accepted.tolist() == [0, 1, 0, 0]
    assert walk.token.tolist() == [2, 1, 2, 1]
    sure = load("rejection_walk", form)(
        torch.tensor([[[0.0, 1.0], [1.0, 0.0]]]), torch.tensor([[0]]), None, torch.zeros(1, 1), torch.zeros(1)
    )
    assert (sure.accepted.item(), sure.token.item(), sure.status.item()) == (0, 1, Status.OK)
    # p is the failing draft's own point mass up to rounding, so nothing is left: p itself.
    odd = load("rejection_walk", form)(
        torch.tensor([[[0.9, 0.0], [1.0, 0.0]]]), torch.tensor([[0]]), None, torch.full((1, 1), 0.95), torch.zeros(1)
    )
    assert (odd.accepted.item(), odd.token.item(), odd.status.item()) == (0, 0, Status.OK)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # the interpreter is numpy, which remarks on NaN
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("vocab", [6, 4100])
def test_an_unusable_row_is_named_where_it_is_read(form, bad, vocab):
    p = torch.full((7, 3, vocab), 1 / vocab)
    q = torch.full((7, 2, vocab), 1 / vocab)
    drafts = torch.full((7, 2), 1)
    u = torch.full((7, 2), 0.5)
    p[0, 0, 1] = bad  # the number that the first test reads
    q[1, 1, 1] = bad  # the second test's
    p[2, 2, vocab - 1] = bad  # in the bonus row
    q[3, 0, vocab - 1], p[3, 0, 1] = bad, 0.0  # in q's row of a failing draft
    p[4, 0, vocab - 1], p[4, 0, 1] = bad, 0.0  # in p's
    q[3:5, 0, 0] = 0.0  # so that the residual has mass elsewhere too
    p[5, 2, 0], q[5, 1, 0], p[5, 0, 1] = bad, bad, 0.0  # behind the failing draft: never read
    p[6, 2] = 0.0  # no mass
    walk = load("rejection_walk", form)(p, drafts, q, u, torch.full((7,), 0.5))
    broken = int(Status.NOT_FINITE)
    assert walk.status.tolist() == [broken, broken, broken, broken, broken, Status.OK, Status.NO_MASS]
    assert walk.accepted.tolist() == [0, 1, 2, 0, 0, 0, 2]
    assert walk.tests.tolist() == [1, 2, 2, 1, 1, 1, 2]
    assert walk.token[[0, 1, 2, 3, 4, 6]].tolist() == [0] * 6 and walk.token[5] > 1


@pytest.mark.parametrize("form", FORMS)
def test_without_drafts_a_row_is_named_too(form):
    p = torch.tensor([[[0.5, 0.5]], [[math.nan, 0.5]], [[0.0, 0.0]]])
    none = torch.zeros(3, 0, dtype=torch.long)
    walk = load("rejection_walk", form)(p, none, None, torch.zeros(3, 0), torch.full((3,), 0.7))
    assert walk.status.tolist() == [Status.OK, Status.NOT_FINITE, Status.NO_MASS]
    assert walk.token.tolist() == [1, 0, 0] and walk.tests.tolist() == [0, 0, 0]


def test_p_may_be_shared_by_all_rounds():
    p, drafts, q, u_accept, u_draw = _rounds(30, 3, 11)
    shared = p[1].expand(30, 4, 11)
    expected = rejection_walk.reference(shared.contiguous(), drafts, q, u_accept, u_draw)
    assert_same(rejection_walk.reference(shared, drafts, q, u_accept, u_draw), expected)
    assert_same(load("rejection_walk", "fused")(shared, drafts, q, u_accept, u_draw), expected)


def test_fused_treats_a_draft_outside_the_vocabulary_as_improbable():
    walk = load("rejection_walk", "fused")(
        torch.full((2, 2, 3), 1 / 3), torch.full((2, 1), 10**9), None, torch.zeros(2, 1), torch.tensor([0.1, 0.9])
    )
    assert walk.accepted.tolist() == [0, 0] and walk.token.tolist() == [0, 2] and not walk.status.any()


def test_fused_takes_half_precision():
    p, drafts, q, u_accept, u_draw = _rounds(20, 3, 65)
    p, q = p.half(), q.half()
    expected = rejection_walk.reference(p.float(), drafts, q.float(), u_accept, u_draw)
    assert_same(load("rejection_walk", "fused")(p, drafts, q, u_accept, u_draw), expected)
