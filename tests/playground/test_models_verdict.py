"""When speculation pays, in one sentence, from made-up rounds."""

from __future__ import annotations

import pytest

from engine.events import DrafterEvent, Event, RoundEvent
from playground.models.verdict import ENOUGH, speed_verdict


def rounds(
    count: int, drafted: int = 4, accepted: int = 2, ms: float = 10.0, drafter: str = "ngram", draft_ms: float = 1.0
) -> list[Event]:
    """Rounds of `ms` in all."""
    one = RoundEvent(
        turn=0, burst=0, round=0, pos=0, pending=1, drafted=tuple(range(drafted)), accepted=accepted, bonus=9,
        emitted=accepted + 1, width=8, drafter=drafter, draft_ms=draft_ms, verify_ms=ms - draft_ms - 0.3,
        accept_ms=0.2, host_ms=0.1,
    )  # fmt: skip
    return [one] * count


def plain(count: int = 20, ms: float = 10.0, drafter: str = "ngram") -> list[Event]:
    return rounds(count, drafted=0, accepted=0, ms=ms + 0.5, drafter=drafter, draft_ms=0.5)


def was(action: str, why: str = "", drafter: str = "ngram") -> DrafterEvent:
    return DrafterEvent(drafter=drafter, draft_len=4, action=action, pos=0, why=why)  # type: ignore[arg-type]


def test_nothing_is_guessed_at_length_0() -> None:
    verdict = speed_verdict("ngram", [], draft_len=0)
    assert verdict.badge == "off" and "K is 0" in verdict.sentence


def test_no_drafter_is_off_and_no_round_is_not_known():
    assert speed_verdict("none", plain(drafter="none")).sentence == (
        "No drafter is chosen, so every step is plain decoding."
    )
    assert speed_verdict("none", ()).badge == "off"
    first = speed_verdict("model:/home/ann/tiny", ())
    assert first.badge == "unknown" and "draft model tiny" in first.sentence and "ann" not in first.sentence
    few = speed_verdict("ngram", rounds(ENOUGH - 1))
    assert few.badge == "unknown" and few.sentence.startswith("7 rounds with n-gram lookup are too few")


def test_it_helps_when_a_round_gives_more_than_it_costs():
    verdict = speed_verdict("ngram", [*plain(drafter="none"), *rounds(30, accepted=2, ms=15.0)])
    assert verdict.badge == "helping" and verdict.speed_up == pytest.approx(3 * 10 / 15)
    assert verdict.sentence == (
        "2.00× as fast as plain decoding: 3.00 tokens a round pay for a round that takes 1.50 times as long as a plain "
        "step; 1.50 tokens a round would break even."
    )


def test_it_loses_when_a_round_costs_more_than_it_gives():
    verdict = speed_verdict("model:x", [*plain(drafter="none"), *rounds(30, accepted=1, ms=40.0, drafter="model:x")])
    assert verdict.badge == "losing" and verdict.speed_up == pytest.approx(0.5)
    assert verdict.sentence.startswith("Plain decoding would be 2.00× as fast: 2.00 tokens a round do not pay for")


@pytest.mark.parametrize(("ms", "badge"), [(27.0, "helping"), (29.0, "even"), (31.0, "even"), (32.5, "losing")])
def test_close_to_one_is_called_even(ms: float, badge: str):
    assert speed_verdict("ngram", [*plain(drafter="none"), *rounds(30, accepted=2, ms=ms)]).badge == badge


def test_rounds_that_found_nothing_count_as_plain_steps_of_the_drafter():
    half = [event for pair in zip(plain(20), rounds(20, accepted=3, ms=16.0), strict=True) for event in pair]
    verdict = speed_verdict("ngram", half)
    # (1 + 4) tokens in 10.5 + 16 ms against 10 ms a token
    assert verdict.badge == "helping" and verdict.speed_up == pytest.approx(5 * 10 / 26.5)
    assert speed_verdict("ngram", plain(20)).sentence == (
        "The last 20 rounds found nothing to guess, so each was as fast as a plain step."
    )


def test_only_the_latest_rounds_of_the_present_drafter_count():
    events = [*plain(), *rounds(64, accepted=4, ms=12.0), *rounds(64, accepted=0, ms=12.0)]
    assert speed_verdict("ngram", events).badge == "losing"
    other = [*plain(), *rounds(30, accepted=4, drafter="model:x"), *rounds(30, accepted=0, ms=12.0)]
    assert speed_verdict("ngram", other).badge == "losing" and speed_verdict("model:x", other).badge == "helping"


def test_without_a_plain_step_only_a_hopeless_drafter_is_judged():
    assert speed_verdict("ngram", rounds(10, drafted=4, accepted=0)).sentence == (
        "None of the last 40 guesses was kept, so guessing only costs time."
    )
    open_ = speed_verdict("ngram", rounds(10, accepted=1))
    assert open_.badge == "unknown" and open_.sentence.startswith("2.00 tokens a round; whether that pays shows once")
    known = speed_verdict("ngram", rounds(10, accepted=1, ms=15.0), plain_ms=10.0)
    assert known.badge == "helping" and known.speed_up == pytest.approx(2 * 10 / 15)


def test_a_drafter_at_the_end_of_its_context_is_off_until_it_drafts_again():
    why = "Its context ends at 2048 tokens; rounds go on without drafts."
    events = [*rounds(20), was("limit", why), *plain()]
    verdict = speed_verdict("ngram", events)
    assert verdict.badge == "off"
    assert verdict.sentence == "The drafter has stopped: its context ends at 2048 tokens; rounds go on without drafts."
    assert speed_verdict("ngram", [*events, *rounds(1)]).badge != "off"
    assert speed_verdict("ngram", [*events, was("set")]).badge != "off"
    assert speed_verdict("model:x", events).badge == "unknown", "the limit was another drafter's"


def test_a_clock_that_stands_still_judges_nothing():
    still = rounds(20, ms=0.3, draft_ms=0.0)
    assert all(event.verify_ms == 0 for event in still if isinstance(event, RoundEvent))
    frozen = [RoundEvent(**{**vars(event), "accept_ms": 0.0, "host_ms": 0.0}) for event in still]
    assert speed_verdict("ngram", frozen, plain_ms=1.0).badge == "unknown"
