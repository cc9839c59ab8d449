"""What is refused before any work, and how."""

from __future__ import annotations

import math
from typing import Any

import pytest

from playground.limits import (
    Refused,
    TurnOptions,
    check_message,
    check_options,
    check_position,
    stop_lines,
    stop_text,
)
from playground.settings import Settings

GOOD: dict[str, Any] = {"max_new": 64, "drafter": "ngram", "draft_len": 5, "burst": 8, "overshoot": "trim"}


def test_good_options_pass() -> None:
    assert check_options(**GOOD, settings=Settings()) == TurnOptions(64, "ngram", 5, 8, "trim")
    assert check_options(**GOOD | {"max_new": 64.0}, settings=Settings()).max_new == 64


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"max_new": 0}, "Max new tokens must be a whole number from 1"),
        ({"max_new": 10**9}, "Max new tokens"),
        ({"max_new": 2.5}, "Max new tokens"),
        ({"max_new": math.nan}, "Max new tokens"),
        ({"max_new": math.inf}, "Max new tokens"),
        ({"max_new": None}, "Max new tokens"),
        ({"max_new": True}, "Max new tokens"),
        ({"max_new": "64"}, "Max new tokens"),
        ({"draft_len": 8}, "Draft length K must be a whole number from 0 to 7"),
        ({"draft_len": -1}, "Draft length K"),
        ({"burst": 0}, "Burst size"),
        ({"drafter": "oracle"}, "Drafter must be one of none, ngram; others"),
        ({"drafter": None}, "Drafter"),
        ({"drafter": "model:default"}, "Drafter must be one of"),
        ({"drafter": "model:/etc"}, "Drafter must be one of"),
        ({"overshoot": "burn"}, "Overshoot must be keep or trim"),
    ],
)
def test_options_out_of_range(change: dict[str, Any], says: str) -> None:
    with pytest.raises(Refused, match=says) as caught:
        check_options(**GOOD | change, settings=Settings())
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        (None, "must be text"),
        (7, "must be text"),
        ("x" * 32_001, "32,001 characters"),
    ],
)
def test_messages(message: object, says: str) -> None:
    with pytest.raises(Refused, match=says):
        check_message(message)
    assert check_message("x" * 32_000)


@pytest.mark.parametrize("pos", [-1, 1.5, "3", None, True, 2**40])
def test_positions(pos: object) -> None:
    with pytest.raises(Refused, match="Position must be"):
        check_position(pos)
    assert check_position(0) == 0


def test_the_drafter_the_operator_named_is_offered_and_no_other_model() -> None:
    settings = Settings(drafter="model:./small")
    assert check_options(**GOOD | {"drafter": "model:./small"}, settings=settings).drafter == "model:./small"
    with pytest.raises(Refused, match=r"none, ngram, model:./small"):
        check_options(**GOOD | {"drafter": "model:./other"}, settings=settings)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"stop": [""]}, "is empty"),
        ({"stop": ["x" * 10_000]}, "10,000 characters"),
        ({"stop": ["x"] * 17}, "at most 16"),
        ({"stop": "END"}, "list of texts"),
        ({"stop": [1]}, "must be text"),
        ({"system": 7}, "system message must be text"),
        ({"system": "x" * 32_001}, "32,001 characters"),
    ],
)
def test_stop_strings_and_system_messages(change: dict[str, Any], says: str) -> None:
    with pytest.raises(Refused, match=says) as caught:
        check_options(**GOOD | change, settings=Settings())
    assert str(caught.value).endswith(".")


def test_stop_strings_survive_their_box() -> None:
    stops = ["END", "\n\n", "a\tb", "C:\\new", " two words ", "\\n"]
    assert stop_lines(stop_text(stops)) == stops
    assert stop_lines("User:\n\n\\n\\n\n") == ["User:", "\n\n"] and stop_lines(None) == stop_lines("") == []
