"""What anyone may send to the server functions of race and sweep: only a known session is answered, nothing fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import gradio as gr
import pytest

from playground.names import offered, public_name, short_reference
from playground.race import RaceTab
from playground.race.wire import LONGEST_QUESTION, answer_of
from playground.settings import Settings
from playground.sweep import SweepTab
from playground.sweep.run import LARGEST_FILE, file_text
from tests.playground.measuring_fakes import FakeDecoder, MeasuredEngine, eventually, ready_service
from tests.playground.sweep_runs import made_run

RACE = ["one two", "ngram", 3, 48, "greedy", 0.8, 0, 0.95, 1]
SWEEP = [["ngram"], [2], ["chat"], "", 16, 1, ""]


class Tabs:
    """Both tabs on a fake engine, and a visitor's session id."""

    def __init__(self, folder: Any) -> None:
        self.service = ready_service(MeasuredEngine())
        with gr.Blocks(analytics_enabled=False), gr.Tabs():
            self.race = RaceTab(self.service, FakeDecoder())
            self.sweep = SweepTab(self.service, FakeDecoder(), folder)
        self.sid = self.service.registry.new().sid

    def ask(self, call: Any, **what: Any) -> Any:
        text = call(json.dumps({"sid": self.sid, **what}))
        return json.loads(text) if text else None


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tabs]:
    tabs = Tabs(tmp_path_factory.mktemp("data"))
    yield tabs
    tabs.race.close()
    tabs.sweep.close()
    tabs.service.close()


@pytest.fixture
def tabs(both: Tabs) -> Tabs:
    """With a new visitor."""
    both.sid = both.service.registry.new().sid
    return both


@pytest.mark.parametrize(
    "data",
    [
        None, 7, "", "{", "[]", "null", '"x"', "[" * 200, "{}", '{"sid": null}', '{"sid": []}',
        '{"sid": "' + "0" * 32 + '"}', [], [None], [["a"]], {"sid": "x"}, "x" * (LONGEST_QUESTION + 1),
    ],
)  # fmt: skip
def test_without_a_known_session_there_is_no_answer(tabs: Tabs, data: Any) -> None:
    tabs.race.begin(tabs.sid, *RACE)
    for call in (tabs.race.reading, tabs.race.download, tabs.sweep.reading, tabs.sweep.library):
        assert call(data) == ""
    assert "session" in tabs.race.begin(str(data)[:40], *RACE)[1]
    assert "session" in tabs.sweep.begin(str(data)[:40], *SWEEP)[1]
    assert "session" in tabs.race.stop(str(data)[:40]) and "session" in tabs.sweep.stop(str(data)[:40])


def test_a_view_gets_what_it_lacks_and_everything_when_it_asks_oddly(tabs: Tabs) -> None:
    assert tabs.ask(tabs.race.reading) is None, "no race yet"
    value, refusal, *_ = tabs.race.begin(tabs.sid, *RACE)
    number = json.loads(value)["number"]
    assert refusal == "" and number > 0
    eventually(lambda: tabs.ask(tabs.race.reading)["ended"])
    whole = tabs.ask(tabs.race.reading, number=number, seen=[0, 0])
    assert [len(lane["new"]) for lane in whole["lanes"]] == [48, 48]
    part = tabs.ask(tabs.race.reading, number=number, seen=[40, 48])
    assert [len(lane["new"]) for lane in part["lanes"]] == [8, 0]
    for odd in (None, [1], [-1, 0], ["1", 0], [True, 0], {}, [0, 0, 0]):
        assert [len(lane["new"]) for lane in tabs.ask(tabs.race.reading, number=number, seen=odd)["lanes"]] == [48, 48]
    assert len(tabs.ask(tabs.race.reading, number=number + 1, seen=[40, 40])["lanes"][0]["new"]) == 48
    assert tabs.ask(tabs.race.download)["outcome"]["verdict"]["same"] == "identical"


def test_one_visitor_sees_nothing_of_anothers_race(tabs: Tabs) -> None:
    tabs.race.begin(tabs.sid, *RACE)
    other = tabs.service.registry.new().sid
    assert tabs.race.reading(json.dumps({"sid": other, "number": 1, "seen": [0, 0]})) == ""


@pytest.mark.parametrize("asked", [[None] * 9, [["x"]] * 9, [{}] * 9, [float("nan")] * 9])
def test_hostile_settings_are_refused_with_a_sentence(tabs: Tabs, asked: list[Any]) -> None:
    assert tabs.race.begin(tabs.sid, *asked)[1].endswith(".")
    assert tabs.sweep.begin(tabs.sid, *asked[:7])[1].endswith(".")
    assert tabs.sweep.plan(*asked[:7]).endswith(".")


def test_the_library_answers_every_question_with_json(tabs: Tabs) -> None:
    call = tabs.sweep.library
    assert tabs.ask(call, do="list") == {"lines": [], "note": "", "saves": True}
    run = made_run({2: 1.5})
    taken = tabs.ask(call, do="take", text=file_text(run))
    assert taken["report"]["id"] == run.id and len(taken["lines"]) == 1
    assert tabs.ask(call, do="download", id=run.id)["text"] == file_text(run)
    assert tabs.ask(call, do="compare", id=run.id, other=run.id)["comparison"]["notes"]
    for what in ("open", "compare", "remove", "download"):
        for bad in (None, 7, [], "../../etc/passwd", "0" * 16):
            assert tabs.ask(call, do=what, id=bad)["error"] == "There is no saved sweep of this name any more."
    for bad in (None, 7, "", "{}", "[" * 1000):
        assert tabs.ask(call, do="take", text=bad)["error"].endswith(".")
    for odd in (None, "shell", [], {}):
        assert tabs.ask(call, do=odd)["error"] == "That is not known here."
    assert call(json.dumps({"sid": tabs.sid, "do": "take", "text": "x" * 2 * LARGEST_FILE})) == ""
    assert tabs.ask(call, do="remove", id=run.id)["lines"] == []


def test_answers_hold_no_markup_and_no_lone_surrogate() -> None:
    text = answer_of({"a": "<script>\ud800"})
    assert "<" not in text and text.encode("utf-8")
    assert json.loads(text)["a"] == "<script>\ud800"


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("HuggingFaceTB/SmolLM2-135M", "HuggingFaceTB/SmolLM2-135M"), ("default", "default"),
        ("/home/me/models/tiny/", "tiny"), ("./models/tiny", "tiny"), ("~/tiny", "tiny"), ("a/b/c", "c"),
        (r"C:\models\tiny", "tiny"), ("models/small.gguf", "small.gguf"),
    ],
)  # fmt: skip
def test_a_path_is_never_shown(reference: str, name: str) -> None:
    assert short_reference(reference) == name
    assert public_name(f"model:{reference}") == f"model:{name}"


def test_a_drafter_by_path_is_offered_under_its_name() -> None:
    known = offered(Settings(drafter="model:/home/me/tiny"))
    assert known == {"none": "none", "ngram": "ngram", "model:tiny": "model:/home/me/tiny"}


def test_controls_follow_another_model(tabs: Tabs) -> None:
    race, sweep = tabs.race._controls, tabs.sweep._controls
    assert all(change == gr.skip() for change in (*race.fit(Settings()), *sweep.fit(Settings())))
    other = Settings(drafter="model:/home/me/tiny", draft_len=9)
    drafter, draft_len = race.fit(other)
    assert ("Draft model tiny", "model:tiny") in drafter["choices"] and drafter["value"] == "model:tiny"
    assert (draft_len["maximum"], draft_len["value"]) == (9, 9)
    drafters, lengths = sweep.fit(other)
    assert drafters["value"] == ["ngram", "model:tiny"] and lengths["choices"][-1] == ("9", 9)
