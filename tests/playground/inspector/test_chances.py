"""Probabilities in words: never a false 0 or 100."""

from __future__ import annotations

import pytest

from playground.inspector.chances import chance_of, in_hundred, percent


@pytest.mark.parametrize(
    ("chance", "shown"),
    [
        (0.0, "0 %"),
        (0.0004, "under 0.1 %"),
        (0.004, "0.4 %"),
        (0.62, "62 %"),
        (0.9999, "99 %"),
        (1.0, "100 %"),
    ],
)
def test_percent(chance: float, shown: str) -> None:
    assert percent(chance) == shown


@pytest.mark.parametrize(
    ("chance", "shown"),
    [
        (0.0, "never"),
        (0.001, "less than once in 100"),
        (0.01, "1 time in 100"),
        (0.22, "22 times in 100"),
        (0.999, "99 times in 100"),
        (1.2, "always"),
    ],
)
def test_times_in_a_hundred(chance: float, shown: str) -> None:
    assert in_hundred(chance) == shown


def test_a_token_outside_the_list_is_bounded_by_what_the_list_leaves() -> None:
    assert chance_of(7, ()) == ""
    assert chance_of(7, ((7, 0.5), (8, 0.25))) == "50 %"
    assert chance_of(9, ((7, 0.5), (8, 0.25))) == "at most 25 %"
    assert chance_of(9, ((7, 0.5), (8, 0.48))) == "at most 2 %"
    assert chance_of(9, ((7, 0.6), (8, 0.4))) == "under 0.1 %"
