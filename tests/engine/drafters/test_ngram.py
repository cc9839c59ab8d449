"""The n-gram index against a plain search, through appends and truncations; its cost does not grow."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.drafters.ngram import LONGEST, LOOSE, NgramDrafter

IDS = st.integers(0, 3)


def _by_search(tokens: list[int], pending: int, k: int) -> list[int]:
    """The same rule, found by looking at every position."""
    text = [*tokens, pending]
    for n in range(min(LONGEST, len(text)), 0, -1):
        for end in range(len(text) - 1, n - 1, -1):
            if text[end - n : end] == text[-n:]:
                out = list(text)
                for i in range(k if n > 1 else min(k, LOOSE)):
                    out.append(out[end + i])
                return out[len(text) :]
    return []


@settings(max_examples=200)
@given(st.lists(st.tuples(st.lists(IDS, max_size=6), st.integers(0, 8)), max_size=12), IDS, st.integers(1, 7))
def test_proposes_what_a_search_would_after_any_history(steps, pending, k):
    drafter, tokens = NgramDrafter(), []
    drafter.start([], None)
    for more, back in steps:
        drafter.observe(more, None)
        tokens += more
        keep = max(0, len(tokens) - back)
        drafter.truncate(keep, None)
        del tokens[keep:]
        assert drafter.propose(pending, k, None) == _by_search(tokens, pending, k)


def test_truncating_leaves_no_trace_in_the_index():
    drafter = NgramDrafter()
    drafter.start([1, 2, 3, 1, 2], None)
    snapshot = drafter.snapshot()
    before = [dict(ends) for ends in drafter._ends]
    drafter.observe([7, 8, 9, 1, 2, 3], None)
    drafter.restore(snapshot, None)
    assert [dict(ends) for ends in drafter._ends] == before


def test_a_copy_that_reaches_the_end_goes_on_through_its_own_draft():
    drafter = NgramDrafter()
    drafter.start([5, 6, 5], None)
    assert drafter.propose(6, 7, None) == [5, 6, 5, 6, 5, 6, 5]


def test_a_match_of_one_token_is_followed_briefly():
    drafter = NgramDrafter()
    drafter.start([1, 2, 3, 4, 5, 6, 7, 8, 9], None)
    assert drafter.propose(1, 7, None) == [2, 3, 4]
    drafter.observe([1], None)
    assert drafter.propose(2, 7, None) == [3, 4, 5, 6, 7, 8, 9]


class _Counted(dict):
    lookups = 0

    def get(self, *args):
        type(self).lookups += 1
        return super().get(*args)


def test_a_proposal_costs_the_same_in_a_long_session():
    drafter = NgramDrafter()
    drafter.start([i % 97 for i in range(50_000)], None)
    drafter._ends = [_Counted(ends) for ends in drafter._ends]
    assert len(drafter.propose(50_000 % 97, 7, None)) == 7
    assert _Counted.lookups <= LONGEST
