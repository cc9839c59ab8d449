"""Teeth of the distribution's gate: engines broken in one place, each of which it must notice, and where."""

from __future__ import annotations

import math

import pytest
import torch

import engine.burst
import engine.rules.rejection as rejection
import engine.turn_start
from engine import SamplingParams
from engine.round import Round
from engine.rules.rejection import _Drawn
from engine.rules.shape import penalised, scores
from kernels import categorical
from tests.engine.sampling.laws import verdicts
from tests.engine.sampling.play import episodes
from tests.kernels.chi_square import BOUND

pytestmark = pytest.mark.usefixtures("quick_numbers")
WARM = SamplingParams(temperature=0.7, seed=21)
TOP_K = SamplingParams(top_k=3, seed=22)
TOP_P = SamplingParams(top_p=0.7, seed=22)
MIN_P = SamplingParams(min_p=0.25, seed=22)
PENALTIES = SamplingParams(frequency_penalty=0.5, presence_penalty=2.5, penalty_last_n=2, seed=23)
EPISODES = 120


def failures(drafter: str, sampling: SamplingParams, count: int = EPISODES, **options) -> set[str]:
    """The places that the gate finds wrong."""
    return {place for place, p in verdicts(episodes(drafter, sampling, count, **options).choices).items() if p < BOUND}


def walk_with(monkeypatch, broken):
    """`broken(real, p, ids, q, u, last)` in place of the rejection walk."""
    pick = rejection.pick

    def other(name, device):
        real = pick(name, device)
        return real if name != "rejection_walk" else lambda *args: broken(real, *args)

    monkeypatch.setattr(rejection, "pick", other)


@pytest.mark.parametrize(
    ("drafter", "sampling"),
    [("table", WARM), ("point", WARM), ("table", TOP_P), ("table", PENALTIES), ("point", PENALTIES)],
)
def test_nothing_is_found_in_the_engine_as_it_is(drafter, sampling):
    """The plays below are as good a test of the right engine as of the broken ones."""
    assert not failures(drafter, sampling)


@pytest.mark.parametrize("drafter", ["table", "point"])
def test_an_inverted_accept_test(monkeypatch, drafter):
    def inverted(real, p, ids, q, u, last):
        x = ids.clamp_min(0)
        px = p[:, : x.shape[1]].gather(2, x[..., None])[..., 0]
        qx = torch.ones_like(px) if q is None else q.gather(2, x[..., None])[..., 0]
        return real(p, ids, q, torch.where(u * qx < px, math.inf, -1.0), last)

    walk_with(monkeypatch, inverted)
    assert {"column", "edge"} <= failures(drafter, WARM)


@pytest.mark.parametrize("drafter", ["table", "point"])
def test_a_residual_replaced_by_p(monkeypatch, drafter):
    def from_p(real, p, ids, q, u, last):
        walk = real(p, ids, q, u, last)
        return walk._replace(token=categorical.reference(p[:, int(walk.accepted[0])], last)[0])

    walk_with(monkeypatch, from_p)
    assert {"column", "correction"} <= failures(drafter, WARM, 2 * EPISODES)


@pytest.mark.parametrize("sampling", [TOP_K, TOP_P, MIN_P])
def test_the_neighbouring_rows_filter(monkeypatch, sampling):
    """Row j keeps what is at or above row j - 1's threshold."""

    def neighbour(logits, params, context, drafts=()):
        own = scores(logits, params, context, drafts)
        threshold = torch.where(own > -math.inf, own, math.inf).amin(-1, keepdim=True)
        plain = logits.float() / params.temperature
        wrong = torch.where(plain < threshold.roll(1, 0), -math.inf, plain)
        wrong[0] = own[0]
        # what a mistaken threshold leaves empty keeps its largest
        return torch.where((wrong > -math.inf).any(-1, keepdim=True), wrong, own)

    monkeypatch.setattr(rejection, "scores", neighbour)
    assert {"later", "all"} <= failures("table", sampling)


def test_an_argmax_as_first_token_of_a_turn(monkeypatch):
    monkeypatch.setattr(engine.turn_start, "first_choice", lambda session, rule, suffix: lambda row: int(row.argmax()))
    assert {"first"} <= failures("table", WARM) <= {"first", "all"}


def test_an_argmax_where_a_burst_begins_at_a_prediction(monkeypatch):
    real = engine.burst.resume_choice

    def argmax(session, rule, *, begins):
        token, drawn = real(session, rule, begins=begins)
        return (session.next_pred if drawn else token), drawn

    monkeypatch.setattr(engine.burst, "resume_choice", argmax)
    assert {"again", "resume"} <= failures("table", WARM) <= {"again", "resume", "all"}


def test_a_trimmed_token_that_comes_back_as_the_argmax(monkeypatch):
    """Not as it was drawn."""
    monkeypatch.setattr(engine.burst, "resume_choice", lambda session, rule, *, begins: (session.next_pred, False))
    with pytest.raises(AssertionError, match="not the token that was drawn and trimmed"):
        failures("table", WARM)


@pytest.mark.parametrize("drafter", ["table", "point"])
def test_penalties_reset_at_a_burst_edge(monkeypatch, drafter):
    class Forgetful(Round):
        def __init__(self, session, *args):
            super().__init__(session, *args)
            bursts = [event for event in session.trace if event.kind == "burst"]
            done = bursts[-1].committed if bursts and bursts[-1].turn == session.turn else 0
            self.context = self.context[done + 1 :]

    monkeypatch.setattr(engine.burst, "Round", Forgetful)
    assert {"edge", "unparked"} <= failures(drafter, PENALTIES)


@pytest.mark.parametrize("drafter", ["table", "point"])
def test_penalties_that_do_not_see_the_accepted_prefix(monkeypatch, drafter):
    def blind(logits, params, context, drafts=()):
        out = torch.cat([penalised(row[None], params, context, ()) for row in logits])
        return out / params.temperature

    monkeypatch.setattr(rejection, "scores", blind)
    found = failures(drafter, PENALTIES)
    assert "later" in found and not {"edge", "unparked", "first", "again"} & found


def test_a_cut_on_the_drawn_token(monkeypatch):
    real = _Drawn.__call__

    def cut_after_the_draw(self, logits):
        cut, self._cut = self._cut, 0.0
        token = real(self, logits)
        self._cut = cut
        if float(self.probabilities[-1][token]) >= cut:
            return token
        self.probabilities.pop()
        self._context.pop()
        return None

    assert not failures("table", WARM, 2 * EPISODES, k=1, cut=0.5)
    monkeypatch.setattr(_Drawn, "__call__", cut_after_the_draw)
    assert "column" in failures("table", WARM, 2 * EPISODES, k=1, cut=0.5)


def test_a_q_that_the_draft_was_not_drawn_from(monkeypatch):
    """The drafter's row without the temperature."""
    real = _Drawn.__call__

    def flat(self, logits):
        token = real(self, logits)
        self.probabilities[-1] = torch.softmax(logits, -1)
        return token

    monkeypatch.setattr(_Drawn, "__call__", flat)
    assert {"column", "correction"} <= failures("table", SamplingParams(temperature=0.5, seed=24))


def test_a_draw_that_uses_the_same_numbers_again(monkeypatch):
    """The counters stand still: draft and trunk draw from the same few values for ever."""
    accept = rejection.RejectionRule.accept

    def still(self, logits, context, drafts, chooser, index, tests, stop_ids):
        return accept(self, logits, context, drafts, chooser, index % 7, tests % 5, stop_ids)

    monkeypatch.setattr(rejection.RejectionRule, "accept", still)
    assert {"column", "bonus"} <= failures("table", WARM)
