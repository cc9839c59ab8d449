"""The Models panel: its handlers as anyone may call them, and as a visitor uses it in Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
import pytest

from engine.errors import EngineError
from playground.limits import TurnOptions
from playground.models.allowed import NONE
from playground.models.controls import TOO_LATE, ModelControls
from playground.service import Service
from playground.settings import Settings
from tests.playground.measuring_page import launch
from tests.playground.model_loads import GB, GatedLoads, eventually, running_service

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

SMOL = "HuggingFaceTB/SmolLM2-1.7B-Instruct"
SMALL = "model:HuggingFaceTB/SmolLM2-135M-Instruct"
FREE: dict[str, Any] = {"before": None, "free": lambda device: 20 * GB}


def controls_of(app: Service, models: str = "") -> ModelControls:
    with gr.Blocks():
        return ModelControls(app, models, **FREE)


@pytest.fixture
def ran() -> Iterator[tuple[Service, GatedLoads]]:
    app, loads = running_service()
    yield app, loads
    for gate in list(loads.gates.values()):
        gate.set()
    app.close()


def read(controls: ModelControls, sid: str) -> dict[str, Any]:
    return dict(json.loads(controls.reading(json.dumps({"sid": sid}))))


def test_reading_tells_the_running_model_the_load_and_whether_drafts_pay(ran: tuple[Service, GatedLoads]):
    app, _ = ran
    controls, talk = controls_of(app), app.registry.new()
    first, facts = read(controls, talk.sid), app.status.facts
    assert facts is not None
    assert first["running"] == {
        "model": "first", "device": "cpu, float32", "context": "4,096 tokens", "drafter": "n-gram lookup",
        "memory": ["2.0 GB weights", "1.0 GB rows reserved"], "exactness": facts.verdict,
    }  # fmt: skip
    assert (first["state"], first["sentence"], first["elapsed"]) == ("ready", "", None)
    assert first["speed"]["badge"] == "unknown"
    talk.send("hello", TurnOptions(max_new=200)).result(10)
    assert read(controls, talk.sid)["speed"]["sentence"].endswith("try a race, or the drafter None for a while.")
    controls.begin(talk.sid, "next", "ngram")
    eventually(lambda: read(controls, talk.sid)["fraction"])
    during = read(controls, talk.sid)
    assert during["running"]["model"] == "first" and during["sentence"] == "Fetching next: model.safetensors"
    assert 0 < during["fraction"] < 1 and during["elapsed"] >= 0


@pytest.mark.parametrize("data", [None, "", "[]", "{}", '{"sid": "x"}', ["{"], {"sid": 1}, "x" * 10_000])
def test_reading_answers_nobody_it_does_not_know(ran: tuple[Service, GatedLoads], data: object):
    assert controls_of(ran[0]).reading(data) == ""


def test_begin_refuses_in_a_sentence(ran: tuple[Service, GatedLoads]):
    app, loads = ran
    controls, sid = controls_of(app), app.registry.new().sid
    assert "not a session id" in controls.begin("", "next", "ngram")[1]
    assert controls.begin(sid, "a b", "ngram")[1].startswith("'a b' is not a checkpoint reference")
    assert controls.begin(sid, "next", "magic")[1].startswith("'magic' is not a drafter")
    assert controls.call_off(sid) == TOO_LATE and "not a session id" in controls.call_off("")
    assert (
        controls.begin(sid, "next", "none")[1] == ""
        and "next is still being loaded" in (controls.begin(sid, "other", "none")[1])
    )
    assert controls.call_off(app.registry.new().sid) == "" and app.wait(5), "it is the owner's machine"
    assert loads.made[1:] == []


def test_a_wrong_path_is_told_once_and_the_outlook_of_another_choice_is_its_own(
    ran: tuple[Service, GatedLoads], tmp_path: Path
):
    app, loads = ran
    controls, sid = controls_of(app), app.registry.new().sid
    for wrong in ("/no/such/place", "a b"):
        said = controls.outlook(wrong, "ngram")
        *_, refusal, _, _, _, outlook = controls.begin(sid, wrong, "ngram")
        assert refusal == said and outlook == ""
    loads.gates[str(tmp_path)].set()  # a folder without a checkpoint: the load itself says so
    begun = controls.begin(sid, str(tmp_path), "ngram")
    assert begun[1] == "" == begun[-1] and app.wait(5)
    assert controls.outlook("next", "ngram").startswith("Its size is not known here")
    assert isinstance(controls.begin(sid, "next", "ngram")[-1], dict), "what it says stays"
    assert isinstance(controls.begin(sid, "other", "ngram")[-1], dict), "another refusal beside it"


def test_visitors_from_elsewhere_load_what_was_listed_and_cancel_their_own():
    app, loads = running_service()
    app.settings = Settings(model="/home/ann/first", host="0.0.0.0")
    closed, some = controls_of(app), controls_of(app, "smollm2-1.7b")
    mine, theirs = app.registry.new().sid, app.registry.new().sid
    assert closed.begin(mine, SMOL, "ngram")[1] == NONE == closed.outlook(SMOL, "ngram")
    assert json.loads(closed.opened(mine)[1]) == {"rows": []}
    assert "choose one of the list" in some.begin(mine, "/etc", "ngram")[1]
    assert "choose one of the list" in some.outlook("/etc", "ngram"), "nothing was read to say so"
    assert some.begin(mine, SMOL, SMALL)[1] == ""
    assert "Another visitor" in some.call_off(theirs)
    assert some.call_off(mine) == "" and app.wait(5)
    assert "ann" not in json.dumps([read(some, mine), some.opened(mine)[1], str(some.checkpoint.choices)])
    loads.gates[SMOL].set()
    app.close()


def test_the_loaders_page_takes_the_new_drafter_and_others_keep_what_is_still_offered(ran: tuple[Service, GatedLoads]):
    app, loads = ran
    controls, mine, theirs = controls_of(app), app.registry.new().sid, app.registry.new().sid
    controls.begin(mine, SMOL, SMALL)
    assert controls.settled(mine, "none")[-1]["value"] == "none", "not before it is there"
    loads.gates[SMOL].set()
    assert app.wait(5)
    update = controls.settled(mine, "none")[-1]
    assert update["value"] == SMALL and [name for _, name in update["choices"]] == ["none", "ngram", SMALL]
    assert controls.settled(theirs, "none")[-1]["value"] == "none"
    assert controls.settled(theirs, "model:gone")[-1]["value"] == SMALL
    assert controls.settled(mine, "ngram")[-1]["value"] == "ngram", "once, not for ever"
    assert len(controls.settled(mine)) == 4, "a page need not have one"


def test_a_load_that_ends_while_it_is_begun_is_followed_too(
    ran: tuple[Service, GatedLoads], monkeypatch: pytest.MonkeyPatch
):
    app, loads = ran
    controls, mine, start = controls_of(app), app.registry.new().sid, app.start

    def start_and_wait(*given: Any, **named: Any) -> None:
        start(*given, **named)
        assert app.wait(5)

    monkeypatch.setattr(app, "start", start_and_wait)
    loads.gates[SMOL].set()
    controls.begin(mine, SMOL, SMALL)
    assert controls.settled(mine, "none")[-1]["value"] == SMALL


def test_a_row_that_was_chosen_fills_the_boxes(ran: tuple[Service, GatedLoads]):
    controls = controls_of(ran[0])
    picked = controls.pick(gr.EventData(None, {"pair": "smollm2-1.7b"}))
    assert picked[0] == SMOL and picked[1]["value"] == SMALL
    for data in ({}, {"pair": "../x"}, {"pair": ["default"]}):
        assert (
            controls.pick(gr.EventData(None, data))[2] == ""
            and "value" not in controls.pick(gr.EventData(None, data))[0]
        )
    assert controls.suggest("some/one")["value"] == "ngram" and controls.suggest(SMOL)["value"] == SMALL


@pytest.fixture
def site(ran: tuple[Service, GatedLoads]) -> Iterator[tuple[str, Service, GatedLoads]]:
    """A page of two tabs: the panel, and a drafter as the whole page has it."""
    app, loads = ran

    def refuse(settings: Settings, progress: Callable[[str, float | None], None]) -> None:
        if settings.model == "other/tokenizer":
            raise EngineError("tiny has another tokenizer than first: id 40 is 'a' there and 'b' here.")

    with gr.Blocks(title="models", analytics_enabled=False, fill_width=True) as page:
        sid = gr.Textbox(visible="hidden", elem_id="sid", label="Session")
        with gr.Column(elem_id="left"), gr.Tabs():
            with gr.Tab("Models"):
                controls = ModelControls(app, **FREE | {"before": refuse})
            with gr.Tab("Chat"):
                drafter = gr.Dropdown(["none", "ngram"], value="ngram", label="Drafter", elem_id="drafter")
        opened = page.load(lambda: app.registry.new().sid, None, [sid], api_visibility="private")
        controls.wire(sid, opened, drafter)
    page.queue(max_size=64, default_concurrency_limit=None)
    yield launch(page), app, loads
    page.close(verbose=False)


def name(page: Page, box: str, text: str) -> None:
    """Type into a box that takes any text."""
    field = page.locator(f"#{box} input")
    field.fill(text)
    field.press("Enter")


@pytest.mark.ui
def test_a_visitor_switches_models(context: BrowserContext, site: tuple[str, Service, GatedLoads], tmp_path: Path):
    from playwright.sync_api import expect

    url, _, loads = site
    wrong: list[str] = []
    context.on("page", lambda page: page.on("pageerror", lambda error: wrong.append(str(error))))
    other, page = context.new_page(), context.new_page()
    for each in (other, page):
        each.goto(url)
        expect(each.locator("#models_running")).to_have_text("first", timeout=30_000)
    says, running = page.locator("#models_says"), page.locator("#models_running")
    expect(page.locator("tr[data-pair=qwen3-8b]")).to_contain_text("Too large")
    page.screenshot(path=tmp_path / "light.png", full_page=True)

    page.locator("tr[data-pair='smollm2-1.7b'] button").click()
    expect(page.locator("#models_outlook")).to_contain_text("The draft model has the same tokenizer.")
    expect(page.locator("#models_drafter input")).to_have_value(f"Draft model {SMALL.removeprefix('model:')}")
    page.locator("#models_load").click()
    expect(says).to_contain_text(f"Fetching {SMOL}: model.safetensors")
    expect(page.locator(".mo-share")).to_have_text("99%")
    expect(page.locator(".mo-clock")).to_have_text("1 s")
    expect(running).to_have_text("first")
    expect(page.locator("#models_load")).to_be_disabled()
    page.screenshot(path=tmp_path / "loading.png")
    page.locator("#models_cancel").click()
    expect(says).to_have_text(f"Loading {SMOL} was cancelled.")
    expect(page.locator("#models_load")).to_be_enabled()

    for reference, sentence in (
        ("bad", "The folder bad has no config.json"),
        ("other/tokenizer", "id 40 is 'a' there"),
    ):
        loads.gates[reference].set()
        name(page, "models_checkpoint", reference)
        expect(page.locator("#models_outlook")).to_contain_text("Its size is not known here")
        page.locator("#models_load").click()
        expect(says).to_contain_text(sentence)
        expect(running).to_have_text("first")

    loads.gates["large"].set()
    name(page, "models_checkpoint", "large")
    page.locator("#models_load").click()
    expect(says).to_contain_text("unload that first")
    page.screenshot(path=tmp_path / "crowded.png")
    page.locator("#models_unload").click()
    expect(running).to_have_text("large", timeout=10_000)
    expect(page.locator("#models_unload")).to_be_hidden()

    loads.gates[SMOL].set()
    page.locator("tr[data-pair='smollm2-1.7b'] button").click()
    expect(page.locator("#models_drafter input")).to_have_value(f"Draft model {SMALL.removeprefix('model:')}")
    page.locator("#models_load").click()
    for each in (page, other):
        expect(each.locator("#models_running")).to_have_text(SMOL, timeout=15_000)
        expect(each.locator("tr[data-pair='smollm2-1.7b'] .mo-running")).to_be_visible()
    page.get_by_role("tab", name="Chat").click()
    expect(page.locator("#drafter input")).to_have_value(f"draft model {SMALL.removeprefix('model:')}")

    page.get_by_role("tab", name="Models").click()
    page.evaluate("document.body.classList.add('dark')")
    page.screenshot(path=tmp_path / "dark.png", full_page=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.screenshot(path=tmp_path / "narrow.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert wrong == []
