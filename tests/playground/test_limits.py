"""What is refused before any work, and how."""

from __future__ import annotations

import math
from typing import Any

import pytest

from engine.sampling import SamplingParams
from playground.choices import message_choices
from playground.limits import (
    OPTIONS,
    Refused,
    TurnOptions,
    check_message,
    check_options,
    check_position,
    stop_lines,
    stop_text,
)
from playground.settings import Settings
from playground.shown_options import shown_options

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
    with pytest.raises(Refused, match=r"none, ngram, model:small"):
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


SAMPLED: dict[str, Any] = {"temperature": 0.8, "top_k": 40.0, "top_p": 1, "min_p": 0.05, "repetition_penalty": 1.1}


def test_sampling_settings_pass_as_numbers_of_their_kind() -> None:
    options = check_options(**GOOD | SAMPLED | {"seed": " 7 ", "penalty_last_n": 32.0}, settings=Settings())
    assert (options.top_k, options.penalty_last_n, options.seed) == (40, 32, 7)
    assert isinstance(options.top_k, int) and options.sampled
    assert options.of_turn()["sampling"] == SamplingParams(0.8, 40, 1, 0.05, 1.1, penalty_last_n=32, seed=7)
    assert options.of_turn()["verify"] == "rejection"


@pytest.mark.parametrize(
    ("seed", "is_"),
    [
        ("", None),
        ("  ", None),
        (None, None),
        ("0", 0),
        (0, 0),
        (3.0, 3),
        (2**64 - 1, 2**64 - 1),
        (str(2**64 - 1), 2**64 - 1),
    ],
)
def test_an_empty_seed_is_a_fresh_one_and_0_is_a_seed(seed: object, is_: int | None) -> None:
    assert check_options(seed=seed, settings=Settings()).seed == is_


def test_what_is_not_given_is_greedy() -> None:
    options = check_options(settings=Settings())
    assert options == TurnOptions() and not options.sampled and not options.sampling.penalised


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"temperature": -1}, "temperature must be a number from 0.0001 to 100 or 0"),
        ({"temperature": math.nan}, "temperature must be"),
        ({"temperature": None}, "temperature must be"),
        ({"temperature": "hot"}, "temperature must be"),
        ({"top_k": -1}, "top_k must be a whole number from 0"),
        ({"top_k": 2.5}, "top_k must be a whole number"),
        ({"top_p": 0}, "top_p must be above 0"),
        ({"top_p": 1.01}, "top_p must be a number from 0 to 1"),
        ({"min_p": 2}, "min_p must be a number from 0 to 1"),
        ({"repetition_penalty": 0}, "repetition_penalty must be"),
        ({"frequency_penalty": math.inf}, "frequency_penalty must be"),
        ({"presence_penalty": 101}, "presence_penalty must be"),
        ({"penalty_last_n": -1}, "penalty_last_n must be"),
        ({"seed": -1}, "seed must be a whole number from 0 to 18446744073709551615"),
        ({"seed": 2**64}, "seed must be"),
        ({"seed": str(2**64)}, "seed must be"),
        ({"seed": 1.5}, "seed must be"),
        ({"seed": "lucky"}, "Seed must be a whole number from 0 to 18446744073709551615, or empty"),
        ({"seed": "-1"}, "Seed must be"),
        ({"seed": "9" * 5000}, "Seed must be"),
        ({"verify": "hope"}, "Verify must be rejection or coupled"),
        ({"verify": None}, "Verify must be"),
    ],
)
def test_sampling_settings_out_of_range(change: dict[str, Any], says: str) -> None:
    with pytest.raises(Refused, match=says) as caught:
        check_options(**GOOD | change, settings=Settings())
    assert str(caught.value).endswith(".") and len(str(caught.value)) < 200


def test_the_pages_values_come_back_as_they_were() -> None:
    options = check_options(**GOOD | SAMPLED, seed=2**64 - 1, verify="coupled", stop=["\n"], settings=Settings())
    shown = dict(zip(OPTIONS, shown_options(options), strict=True))
    assert shown["seed"] == str(2**64 - 1), "a number of that size loses digits in a browser"
    assert check_options(settings=Settings(), **shown | {"stop": stop_lines(shown["stop"])}) == options


def test_stop_strings_survive_their_box() -> None:
    stops = ["END", "\n\n", "a\tb", "C:\\new", " two words ", "\\n"]
    assert stop_lines(stop_text(stops)) == stops
    assert stop_lines("User:\n\n\\n\\n\n") == ["User:", "\n\n"] and stop_lines(None) == stop_lines("") == []


def test_what_no_tokenizer_and_no_page_can_carry_is_replaced_on_the_way_in() -> None:
    half = "half \ud83d"
    options = check_options(**GOOD, system=half, stop=[half], settings=Settings())
    for text in (check_message(half), options.system, *options.stop):
        assert text == "half \ufffd"
    label = message_choices([f"a\n{half}\u202e b"])[0][0]
    assert label == "1. a half \ufffd b"
