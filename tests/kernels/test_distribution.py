"""What the walks emit is distributed as the trunk's distribution, whatever is drafted; broken walks are told apart."""

from __future__ import annotations

import functools

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kernels import coupled_walk, gumbel, rejection_walk
from kernels.philox import Role
from tests.kernels.chi_square import BOUND, fit
from tests.kernels.forms import assert_same
from tests.kernels.rounds import ROUNDS, by_hand, draw_drafts, emitted, verdicts, walk_all

COUNT = 3


def _case(vocab: int, likeness: float = 1.0) -> tuple[Tensor, Tensor]:
    """p [COUNT + 1, vocab] and q [COUNT, vocab]; tokens that p has and q has not, and the other way round."""
    generator = torch.Generator().manual_seed(vocab)
    scores = torch.randn(COUNT + 1, vocab, generator=generator) * 1.2
    other = scores[:COUNT] + torch.randn(COUNT, vocab, generator=generator) * likeness
    if vocab > 4:
        scores[:, 1] = other[:, 3] = float("-inf")
    return scores.softmax(-1), other.softmax(-1)


@pytest.mark.parametrize("vocab", [2, 3, 5, 17, 64])
@pytest.mark.parametrize("likeness", [0.3, 2.0])
def test_drawn_drafts_leave_no_mark(vocab, likeness):
    p, q = _case(vocab, likeness)
    drafts = draw_drafts(q, seed=vocab)
    found = verdicts(walk_all(p, q, drafts, seed=vocab), drafts, p, q)
    assert min(found.values()) > BOUND, found


@pytest.mark.parametrize("vocab", [2, 3, 17, 64])
@pytest.mark.parametrize("rank", [0, 1])
def test_point_mass_drafts_leave_no_mark(vocab, rank):
    """The likeliest token and the second, drafted in every round."""
    p, _ = _case(vocab)
    fixed = p[:COUNT].topk(2).indices[:, rank]
    drafts = fixed.expand(ROUNDS, COUNT)
    found = verdicts(walk_all(p, None, drafts, seed=vocab), drafts, p, F.one_hot(fixed, vocab).float())
    assert min(found.values()) > BOUND, found


def test_drafts_may_change_from_round_to_round():
    """Point masses chosen by anything but this round's numbers, and rounds of 0 to COUNT drafts."""
    p, _ = _case(5)
    order = torch.arange(ROUNDS)
    drafts = torch.stack([order % 5, order // 5 % 5, order // 25 % 5], 1)
    drafts[order % 4 == 0, 1:] = -1
    drafts[order % 4 == 1] = -1
    walk = walk_all(p, None, drafts, seed=1)
    for column in range(COUNT + 1):
        assert fit(emitted(walk, drafts, column), p[column]) > BOUND


def _lowest(fault: str | None) -> float:
    p, q = _case(17)
    drafts = draw_drafts(q, seed=17)
    walk = walk_all(p, q, drafts, 17, functools.partial(by_hand, fault=fault))
    return min(verdicts(walk, drafts, p, q).values())


def test_the_walk_that_is_broken_below_is_ours_when_it_is_whole():
    p, q = _case(17)
    drafts = draw_drafts(q, seed=17)
    for other in (q, None):
        expected = walk_all(p, other, drafts, 17, rejection_walk.reference)
        assert_same(walk_all(p, other, drafts, 17, by_hand), expected)
    assert _lowest(None) > BOUND


@pytest.mark.parametrize("fault", ["accept test inverted", "residual replaced by p", "argmax instead of a draw"])
def test_a_broken_walk_is_noticed(fault):
    assert _lowest(fault) < BOUND


def test_a_draft_not_drawn_from_its_q_is_noticed():
    """The likeliest draft, passed off as a draw."""
    p, q = _case(17)
    drafts = q.argmax(-1).expand(ROUNDS, COUNT)
    assert min(verdicts(walk_all(p, q, drafts, 17), drafts, p, q).values()) < BOUND


CUT_P, CUT_Q = torch.tensor([[0.5, 0.3, 0.2]] * 2), torch.tensor([[0.6, 0.3, 0.1]])


def _cut(dropped: Tensor) -> float:
    """p-value of the first token when some rounds drop their draft."""
    drafts = draw_drafts(CUT_Q, seed=3)
    kept = torch.where(dropped, -1, drafts)
    return fit(emitted(walk_all(CUT_P, CUT_Q, kept, seed=3), kept, 0), CUT_P[0])


def test_a_confidence_cut_may_look_at_the_row_but_not_at_the_drawn_token():
    drafts = draw_drafts(CUT_Q, seed=3)
    top = CUT_Q.amax(-1).expand(ROUNDS, 1)
    assert _cut(top < 0.2) > BOUND  # never dropped
    assert _cut(top < 0.7) > BOUND  # always
    assert _cut(CUT_Q[0, drafts] < 0.2) < BOUND  # dropped when token 2 was drawn: token 0 comes out at 0.55


@pytest.mark.parametrize("vocab", [2, 5, 64])
@pytest.mark.parametrize("drafted", ["coupled", "fixed", "none"])
def test_coupled_tokens_are_draws_and_those_of_plain_sampling(vocab, drafted):
    p, q = _case(vocab, 0.5)
    counters = torch.arange(ROUNDS) * (COUNT + 1)
    noise = [gumbel.reference(9, Role.GUMBEL, counters + j, vocab) for j in range(COUNT + 1)]
    if drafted == "coupled":
        drafts = torch.stack([(q[j].log() + noise[j]).argmax(-1) for j in range(COUNT)], 1)
    else:
        drafts = (p[:COUNT].argmax(-1) if drafted == "fixed" else torch.full((COUNT,), -1)).repeat(ROUNDS, 1)
    walk = coupled_walk.reference(p.log().expand(ROUNDS, -1, -1), drafts, 9, counters)
    for column in range(COUNT + 1):
        tokens = emitted(walk, drafts, column)
        assert torch.equal(tokens, (p[column].log() + noise[column]).argmax(-1)[walk.accepted >= column])
        assert fit(tokens, p[column]) > BOUND
    if drafted == "coupled":  # shared noise is worth having: it accepts nearly as much as the best coupling could
        best = torch.minimum(p[0], q[0]).sum()
        assert float((walk.accepted > 0).float().mean()) > 0.8 * float(best)


def test_noise_shared_between_columns_is_noticed():
    """Teeth: every row takes row 0's noise, so that a column's tokens depend on what was accepted before it."""
    p = _case(5)[0][:1].repeat(COUNT + 1, 1)
    noise = gumbel.reference(9, Role.GUMBEL, torch.arange(ROUNDS), 5)
    choice = (p[0].log() + noise).argmax(-1)
    assert fit(choice, p[0]) > BOUND
    assert fit(choice[choice == 2], p[0]) < BOUND  # the second token after draft 2 was accepted
