"""A sweep on a fake engine: the order of measuring, what is asked and refused, and how it ends in every way it can."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest

from engine.errors import EngineError
from playground.limits import Refused
from playground.settings import Settings
from playground.sweep.library import Library
from playground.sweep.options import SweepOptions, check_sweep, plan_sentence
from playground.sweep.prompts import CATEGORIES, PROMPTS
from playground.sweep.sweep import Sweep
from playground.sweep.sweeps import Sweeps
from tests.playground.measuring_fakes import FakeDecoder, MeasuredEngine, eventually, ready_service

GOOD: dict[str, Any] = {
    "drafters": ["ngram"], "lengths": [2, 1], "categories": ["chat", "list"], "lines": "", "max_new": 16, "repeats": 2,
    "name": "",
}  # fmt: skip


def options(**other: Any) -> SweepOptions:
    return check_sweep(**(GOOD | other), settings=Settings())


def swept(engine: MeasuredEngine, decoder: FakeDecoder, **other: Any) -> Sweep:
    """A sweep that has been run."""
    sweep = Sweep(1, options(**other), lambda: engine, decoder, give_way=lambda: decoder.log.append("way"))
    sweep.work()
    return sweep


def test_every_setting_is_measured_with_every_prompt_as_often_as_asked_plain_among_them():
    engine, decoder = MeasuredEngine(), FakeDecoder()
    sweep = swept(engine, decoder)
    assert sweep.phase == "done" and sweep.error == ""
    run = sweep.run
    assert run is not None and run.complete and run.arms == [("none", 0), ("ngram", 1), ("ngram", 2)]
    counted = Counter((record.arm, record.prompt, record.repeat) for record in run.passes)
    assert counted == Counter(itertools.product(range(3), range(2), range(2)))
    assert {record.tokens for record in run.passes} == {16}
    assert all(session.closed for session in engine.sessions)
    bursts = [entry for entry in decoder.log if entry != "way"]
    assert len(bursts) - 3 == decoder.log.count("way"), "the line has its turn after every burst but the warm-up's"


def test_settings_take_turns_and_none_always_begins():
    order = list(options(repeats=3).order())
    groups = [list(group) for _, group in itertools.groupby(order, key=lambda place: place[:2])]
    assert all(sorted(arm for _, _, arm in group) == [0, 1, 2] for group in groups)
    assert {group[0][2] for group in groups} == {0, 1, 2}


def test_only_plain_decoding_is_free_of_drafts_and_equal_texts_have_equal_fingerprints():
    run = swept(MeasuredEngine(), FakeDecoder()).run
    assert run is not None
    assert all((record.drafted == 0) == (record.arm == 0) for record in run.passes)
    assert len({(record.prompt, record.text) for record in run.passes}) == 2
    wrong = swept(MeasuredEngine(wrong_at=5), FakeDecoder()).run
    assert wrong is not None and len({record.text for record in wrong.passes if record.prompt == 0}) == 2


def test_stop_keeps_whole_decodes_only():
    engine, decoder = MeasuredEngine(), FakeDecoder()
    sweep = Sweep(1, options(), lambda: engine, decoder, give_way=lambda: None)
    decoder.before = lambda session: sweep.stop() if len(sweep.passes) == 4 and session.written >= 8 else None
    kept: list[int] = []
    sweep.work(lambda ended: kept.append(len(ended.passes)))
    assert (sweep.phase, len(sweep.passes), kept) == ("stopped", 4, [4])
    assert sweep.run is not None and not sweep.run.complete
    assert all(session.closed for session in engine.sessions)


@pytest.mark.parametrize("error", [EngineError("The context is full."), OSError("/secret/place")])
def test_an_error_keeps_what_was_measured_and_says_one_sentence(error):
    engine, decoder = MeasuredEngine(), FakeDecoder()

    def fail(session: Any) -> None:
        if len(sweep.passes) == 3:
            raise error

    decoder.before = fail
    sweep = Sweep(1, options(), lambda: engine, decoder, give_way=lambda: None)
    sweep.work()
    assert sweep.phase == "failed" and sweep.run is not None and len(sweep.run.passes) == 3
    assert sweep.error == "The context is full." or ("Something went wrong" in sweep.error and "/" not in sweep.error)
    assert all(session.closed for session in engine.sessions)


def test_a_result_that_cannot_be_kept_still_ends_the_sweep():
    def broken(sweep: Sweep) -> None:
        raise ValueError("disk")

    sweep = Sweep(1, options(), MeasuredEngine, FakeDecoder(), give_way=lambda: None)
    sweep.work(broken)
    assert sweep.phase == "done" and "could not be kept" in sweep.kept


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("drafters", [], "Choose at least one drafter"),
        ("drafters", ["none"], "Drafters must be among ngram"),
        ("drafters", ["model:/etc"], "Drafters must be among ngram"),
        ("drafters", [["ngram"]], "Drafters must be among ngram"),
        ("lengths", [], "Choose at least one draft length"),
        ("lengths", [0], "from 1 to 7"),
        ("lengths", [8], "from 1 to 7"),
        ("lengths", ["2"], "from 1 to 7"),
        ("categories", ["poem"], "Kinds of prompts must be among chat"),
        ("categories", [], "Choose a kind of prompt, or write one"),
        ("lines", 7, "must be text"),
        ("lines", "\n".join("abcdefghijklm"), "13 prompts of your own; the most is 12"),
        ("lines", "x" * 4001, "is longer than 4,000 characters"),
        ("max_new", 513, "New tokens must be"),
        ("repeats", 0, "Repeats must be"),
        ("repeats", 10, "Repeats must be"),
    ],
)
def test_what_is_asked_is_checked(name, value, says):
    with pytest.raises(Refused, match=says):
        options(**{name: value})


def test_a_sweep_without_end_is_refused():
    lines = "\n".join(f"prompt {n}" for n in range(12))
    with pytest.raises(Refused, match="1,224 decodes, and the most is 1,200"):
        options(lengths=[1, 2, 3, 4, 5, 6, 7], categories=list(CATEGORIES), lines=lines, repeats=9)


def test_the_plan_in_words_and_own_prompts_without_their_text():
    asked = options(categories=[], lines=" my secret \n\n another ", repeats=1, name="x" * 99)
    assert [prompt.text for prompt in asked.prompts] == ["my secret", "another"]
    assert plan_sentence(asked) == (
        "Plain decoding and 2 settings, 2 prompts, 1 repeat: 6 decodes of at most 16 tokens."
    )
    sweep = Sweep(1, asked, MeasuredEngine, FakeDecoder(), give_way=lambda: None)
    sweep.work()
    assert sweep.run is not None and len(sweep.run.name) <= 60
    assert "secret" not in sweep.run.model_dump_json() and sweep.run.prompts[0].chars == 9


def test_our_prompts_are_one_of_each_kind_with_names_of_their_own():
    assert len(PROMPTS) == len(CATEGORIES) == len({prompt.name for prompt in PROMPTS})


def test_one_sweep_at_a_time_on_a_server_and_the_result_is_kept(tmp_path):
    service = ready_service(MeasuredEngine(pace=0.002))
    try:
        library = Library(service.settings, tmp_path)
        sweeps = Sweeps(service, library, FakeDecoder())
        first = sweeps.start("a", options(max_new=64))
        with pytest.raises(Refused, match="Your sweep is still running"):
            sweeps.start("a", options())
        with pytest.raises(Refused, match="Another visitor's sweep"):
            sweeps.start("b", options())
        sweeps.stop("b")
        assert not first.ended
        eventually(lambda: len(first.passes) >= 2)
        sweeps.stop("a")
        eventually(lambda: first.ended)
        assert (first.phase, first.kept) == ("stopped", "Saved on this machine.")
        assert [line.run for line in library.listed("b")[0]] == [first.run]
        second = sweeps.start("b", options())
        eventually(lambda: second.ended)
        assert second.phase == "done" and sweeps.latest("a") is first
    finally:
        sweeps.close()
        service.close()
