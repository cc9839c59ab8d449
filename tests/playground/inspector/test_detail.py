"""What a round looks like: fates, tests, rivals and sentences, for every way of choosing."""

from __future__ import annotations

import json

from engine.trace import RICH
from tests.playground.inspector.rounds import TEXTS, detail, fates

TOP = (((11, 0.9),), ((40, 0.62), (12, 0.04)))


def word(token: int) -> str:
    return f"“{TEXTS(token)}”"


def test_a_rejected_greedy_draft_says_what_the_model_wanted() -> None:
    shown = detail(trunk_top=TOP)
    assert fates(shown) == ["accepted", "rejected", "unread", "correction"]
    assert [column["kept"] for column in shown["columns"]] == [True, False, False, True]
    wrong, own = shown["columns"][1], shown["columns"][3]
    assert wrong["says"]["student"] == (
        f"The model wanted {word(40)} (62 %) where the drafter had guessed {word(12)} (4 %)."
    )
    assert wrong["says"] == own["says"]
    assert wrong["test"] == {
        "kind": "argmax",
        "draft": [12, TEXTS(12)],
        "choice": [40, TEXTS(40)],
        "passed": False,
    }
    assert own["trunk"] == wrong["trunk"] == [[40, TEXTS(40), 0.62], [12, TEXTS(12), 0.04]]
    assert shown["columns"][2]["test"] is None and "trunk" not in shown["columns"][2]
    assert "draft 2, which was rejected" in shown["columns"][2]["says"]["student"]
    assert shown["missing"] == "" and "without probabilities" in shown["silent"]
    assert json.loads(json.dumps(shown)) == shown


def test_without_recorded_alternatives_it_says_so_and_why() -> None:
    shown = detail()
    assert shown["columns"][1]["says"]["student"] == (
        f"The model wanted {word(40)} where the drafter had guessed {word(12)}."
    )
    assert shown["missing"] == "This round was decoded without recording alternatives."
    assert "this one is older" in detail(newer=RICH)["missing"]


def test_all_drafts_kept_bring_a_bonus_and_no_drafts_are_a_plain_step() -> None:
    assert fates(detail(accepted=3, emitted=4)) == ["accepted"] * 3 + ["bonus"]
    assert "All 3 guesses were kept" in detail(accepted=3, emitted=4)["columns"][3]["says"]["student"]
    plain = detail(drafted=(), accepted=0, emitted=1)
    assert fates(plain) == ["plain"] and plain["columns"][0]["test"] is None
    assert "had no guess" in plain["columns"][0]["says"]["student"]
    none = detail(drafted=(), accepted=0, emitted=1, drafter="none")
    assert "No drafter is at work" in none["columns"][0]["says"]["student"]


def test_an_accepted_stop_token_ends_the_round() -> None:
    shown = detail(bonus=None, accepted=2, emitted=2)
    assert fates(shown) == ["accepted", "accepted", "after-stop"]
    assert "ended before it" in shown["columns"][2]["says"]["student"]


def test_what_a_trim_let_go_is_not_kept_though_it_was_right() -> None:
    shown = detail(accepted=3, emitted=2, trimmed=(13, 40))
    assert fates(shown) == ["accepted", "accepted", "trimmed", "bonus"]
    assert [column["kept"] for column in shown["columns"]] == [True, True, False, False]
    assert all("no room left" in column["says"]["student"] for column in shown["columns"][2:])


def test_an_accept_test_shows_its_numbers_and_its_sentence_says_the_odds() -> None:
    tests = {"mode": "rejection", "test_p": (0.9, 0.12), "test_q": (0.5, 0.55), "test_u": (0.3, 0.71)}
    shown = detail(**tests, draft_top=(((11, 0.5),), ((12, 0.55),)), trunk_top=TOP)
    assert shown["columns"][1]["test"] == {"kind": "chance", "p": 0.12, "q": 0.55, "u": 0.71, "passed": False}
    assert shown["columns"][3]["test"] == shown["columns"][1]["test"]
    assert shown["columns"][0]["says"]["student"].endswith("such a guess is always kept.")
    assert shown["columns"][1]["says"]["student"] == (
        f"The model gave {word(12)} a chance of 12 %, the drafter 55 %. Such a guess is kept 22 times in 100; "
        f"the dice said no, and the model drew {word(40)} instead."
    )
    assert shown["columns"][1]["says"]["engineer"].startswith("u·q = 0.71 × 0.55 = 0.391 ≥ p = 0.12: rejected")
    assert shown["columns"][1]["draft"] == [[12, TEXTS(12), 0.55]] and shown["silent"] == ""


def test_a_drafter_without_probabilities_is_a_point_mass() -> None:
    says = detail(mode="rejection", test_p=(0.7, 0.1), test_q=(1.0, 1.0), test_u=(0.2, 0.4))["columns"]
    assert says[0]["says"]["student"] == (
        f"The model gave {word(11)} a chance of 70 %. Such a guess is kept 70 times in 100, "
        "and this time the dice said yes."
    )
    assert "the drafter" not in says[1]["says"]["student"]


def test_coupled_compares_draws_with_the_same_noise() -> None:
    shown = detail(mode="coupled", sctr=100)
    assert shown["columns"][1]["test"]["kind"] == "noise"
    assert "noise of index 101" in shown["columns"][1]["says"]["engineer"]
    assert word(40) in shown["columns"][1]["says"]["student"]
