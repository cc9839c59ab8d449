"""Greedy acceptance as a pure function: every verdict, stop ids at every position, trims at every limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.accept import accept_greedy, trim

IDS = st.integers(0, 5)


@st.composite
def rounds(draw):
    drafts = draw(st.lists(IDS, max_size=7))
    choices = draw(st.lists(IDS, min_size=len(drafts) + 1, max_size=len(drafts) + 1))
    right = draw(st.integers(0, len(drafts)))
    choices[:right] = drafts[:right]  # acceptance is rare among random ids
    return drafts, choices, draw(st.sets(IDS, max_size=2))


@given(rounds())
def test_emits_what_plain_decoding_would(case):
    """Plain decoding walks the choices for as long as its own tokens are the drafts, and ends at a stop id."""
    drafts, choices, stops = case
    expected = []
    for column, choice in enumerate(choices):
        expected.append(choice)
        if choice in stops or column == len(drafts) or drafts[column] != choice:
            break
    outcome = accept_greedy(drafts, choices, stops)
    assert list(outcome.tokens) == expected
    assert outcome.pending == expected[-1] and outcome.rows == len(expected)
    assert outcome.stopped == (expected[-1] in stops)
    assert outcome.accepted == sum(1 for o in outcome.origin if o == "draft")
    assert (outcome.bonus is None) == (outcome.origin[-1] == "draft")
    if outcome.bonus is not None:
        assert (outcome.origin[-1] == "correction") == (outcome.accepted < len(drafts))


@given(rounds(), st.integers(1, 9))
def test_trim_keeps_a_prefix_and_predicts_the_rest(case, limit):
    outcome = accept_greedy(*case)
    trimmed = trim(outcome, limit)
    assert trimmed.tokens + trimmed.trimmed == outcome.tokens
    assert len(trimmed.tokens) == min(limit, len(outcome.tokens)) == len(trimmed.origin)
    if limit >= len(outcome.tokens):
        assert trimmed == outcome
    else:
        assert trimmed.pending is None and trimmed.next_pred == trimmed.trimmed[0]
        assert trimmed.rows == 1 + limit and not trimmed.stopped  # column 0 and every kept token
        assert set(trimmed.origin) == {"draft"}


def test_drafts_after_an_accepted_stop_id_do_not_count():
    outcome = accept_greedy([1, 9, 2, 3], [1, 9, 2, 3, 4], {9})
    assert (outcome.accepted, outcome.tokens, outcome.bonus, outcome.pending, outcome.rows) == (2, (1, 9), None, 9, 2)
