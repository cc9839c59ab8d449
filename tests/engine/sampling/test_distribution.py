"""Every emitted token of a session is a draw from the trunk's filtered distribution, wherever a burst began.

The trunk and the drafter are tables, so p, q and the residual have closed forms. Each setting is played with a drafter
that has probabilities, with one that is a point mass and with prompt lookup, through every kind of boundary; each token
is judged given its own history.
"""

from __future__ import annotations

import pytest

from engine import SamplingParams
from tests.engine.sampling.laws import PLACES, verdicts
from tests.engine.sampling.play import episodes
from tests.kernels.chi_square import BOUND

SETTINGS = {
    "temperature": SamplingParams(temperature=0.7, seed=11),
    "top_k": SamplingParams(top_k=3, seed=12),
    "top_p": SamplingParams(top_p=0.75, seed=13),
    "min_p": SamplingParams(min_p=0.25, seed=14),
    "penalties": SamplingParams(
        repetition_penalty=1.4, frequency_penalty=0.5, presence_penalty=0.4, penalty_last_n=3, seed=15
    ),
    "everything": SamplingParams(
        temperature=1.3,
        top_k=4,
        top_p=0.93,
        min_p=0.06,
        repetition_penalty=1.2,
        frequency_penalty=0.3,
        presence_penalty=0.2,
        penalty_last_n=2,
        seed=16,
    ),
}
EPISODES = {"table": 220, "point": 170, "ngram": 130}


@pytest.mark.usefixtures("quick_numbers")
@pytest.mark.parametrize("name", list(SETTINGS))
def test_every_token_follows_the_filtered_trunk(name):
    judged: dict[str, dict[str, float]] = {}
    tokens = numbers = 0
    for drafter, count in EPISODES.items():
        play = episodes(drafter, SETTINGS[name], count)
        judged[drafter] = verdicts(play.choices)
        tokens, numbers = tokens + len(play.choices), numbers + play.session.sctr + play.session.uctr
    assert tokens > 9_000 and numbers > 20_000, (tokens, numbers)
    assert all({"first", "again", "edge", "unparked", "later", "correction"} <= set(found) for found in judged.values())
    assert set(PLACES) <= set().union(*judged.values()), "a place without tokens"
    assert min(p for found in judged.values() for p in found.values()) > BOUND, judged


@pytest.mark.usefixtures("quick_numbers")
@pytest.mark.parametrize(("k", "cut"), [(1, 0.0), (7, 0.0), (3, 0.45)])
def test_so_it_is_for_other_draft_lengths_and_with_a_confidence_cut(k, cut):
    play = episodes("table", SETTINGS["temperature"], 150, k=k, cut=cut)
    found = verdicts(play.choices)
    assert min(found.values()) > BOUND, found


def test_coupled_tokens_follow_it_too():
    play = episodes("table", SETTINGS["everything"], 70, verify="coupled")
    found = verdicts(play.choices)
    found.pop("correction")  # what follows a wrong guess of the same noise is no residual
    assert {"first", "edge", "unparked", "column"} <= set(found) and min(found.values()) > BOUND, found
