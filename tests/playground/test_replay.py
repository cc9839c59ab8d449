"""Traces opened in the page: pieces of a file come in; replays are bounded, end, and are their own visitor's."""

from __future__ import annotations

import base64
import gzip
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine import load_engine
from engine.chat import ChatSession
from playground.exchange import ExchangeError, import_trace
from playground.handlers import Handlers
from playground.inspector.calls import Inspector
from playground.limits import Refused, TurnOptions
from playground.panels.token_text import TokenTexts
from playground.replay import replays as replays_module
from playground.replay import uploads as uploads_module
from playground.replay.desk import Desk
from playground.replay.replays import Replays
from playground.replay.uploads import Uploads
from playground.service import Service
from playground.settings import Settings
from playground.viewer import Viewer, full
from tests.playground.still_clock import Clock
from tests.playground.test_exchange_trace import LINES, PACKED, REFUSED

OTHER_THERE = {"sid", "e", "n", "y"}
"""Of a stream, and not of what it shows; `y` is what the machine holds."""


def bare_service() -> Service:
    """One that never loads an engine."""

    def nothing(*_: object) -> Any:
        raise AssertionError("a replay needs no engine")

    return Service(Settings(), cast(Any, nothing), cast(Any, nothing))


class Page:
    """What a page's script asks."""

    def __init__(self, desk: Desk, sid: str) -> None:
        self.desk, self.sid = desk, sid

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        text = self.desk([json.dumps({"sid": self.sid, "do": do, **more})])
        head, _, delta = text.partition("\n")
        answer: dict[str, Any] = json.loads(head)
        return answer | ({"delta": json.loads(delta)} if delta else {})

    def send(self, data: bytes) -> dict[str, Any]:
        begun = self.ask("begin", size=len(data))
        if "error" in begun:
            return begun
        for number, start in enumerate(range(0, len(data), begun["piece"])):
            piece = base64.b64encode(data[start : start + begun["piece"]]).decode()
            told = self.ask("piece", upload=begun["upload"], number=number, data=piece)
            assert told == {"have": min(len(data), start + begun["piece"])}
        return self.ask("open", upload=begun["upload"])


@pytest.fixture
def page() -> Page:
    service = bare_service()
    return Page(Desk(service.registry), service.registry.new().sid)


def test_a_trace_from_here_is_there_what_it_was_here(tiny_checkpoint: Callable[[str], Path]) -> None:
    """Another installation, no model: the panels' whole state is that of the page it was saved from."""
    engine = load_engine(str(tiny_checkpoint("llama")), drafter="ngram", draft_len=5, device="cpu", max_ctx=512)
    here = Service(Settings(), lambda settings, progress: engine, ChatSession)
    here.start()
    assert here.wait(20)
    talk = here.registry.new()
    options = {"drafter": "ngram", "draft_len": 5, "max_new": 24}
    messages = ("one two one two one", "again and again and again")
    turns = [talk.send(message, TurnOptions(**options)).result(60) for message in messages]
    talk.regenerate(TurnOptions(**options, temperature=0.8, seed=3)).result(60)
    talk.continue_turn(TurnOptions(**options)).result(60)
    file = json.loads(Handlers(here).trace_file([talk.sid]))
    list(Viewer(here, talk).show())
    live = json.loads(full(here, talk))
    texts = TokenTexts(engine.tokenizer)
    said = ["".join(map(texts, turn.tokens[: -1 if turn.reason == "stop" else None])) for turn in turns]
    here.close()

    there = bare_service()
    page = Page(Desk(there.registry), there.registry.new().sid)
    opened = page.send(base64.b64decode(file["data"]))
    shown = page.ask("look", id=opened["id"])
    assert _state(shown["delta"]) == _state(live)
    assert [line[2] for line in shown["talk"]][:2] == said, "an answer that was replaced was made too"
    assert len(shown["talk"]) == 3
    assert file["name"].startswith("draftscope-trace-") and file["name"].endswith(".jsonl.gz")
    assert talk.sid[:8] not in file["name"]
    assert there.engine is None


def _state(delta: dict[str, Any]) -> dict[str, Any]:
    """All that panels show, but for what a replay cannot know: the page's own count, and the clock's speed."""
    state = {key: value for key, value in delta.items() if key not in OTHER_THERE}
    state["s"] = {key: value for key, value in state["s"].items() if key != "version"}
    state["f"] = {key: value for key, value in state["f"].items() if key != "tokens_per_second"}
    return state


def test_without_its_last_events_it_is_another_state(page: Page) -> None:
    """Teeth of the comparison above."""
    states = [_state(page.ask("look", id=page.send("\n".join(lines).encode())["id"])["delta"]) for lines in
              (LINES, LINES[:-3])]  # fmt: skip
    assert states[0] != states[1]


@pytest.mark.parametrize(("words", "data"), REFUSED)
def test_what_is_no_trace_is_refused_on_the_way(page: Page, words: str, data: Callable[[], bytes]) -> None:
    answer = page.send(data())
    assert set(answer) == {"error"} and len(page.desk.replays) == 0
    assert re.search(words, answer["error"]) or "at most 25,165,824 are taken" in answer["error"]
    assert answer["error"].endswith(".")


@pytest.mark.parametrize(
    "change", [{"number": 1}, {"number": None}, {"data": "é"}, {"data": ""}, {"data": 5}, {"upload": "x"}]
)
def test_an_upload_that_goes_wrong_is_over(page: Page, change: dict[str, Any]) -> None:
    name = page.ask("begin", size=1000)["upload"]
    good = {"upload": name, "number": 0, "data": base64.b64encode(bytes(10)).decode()}
    assert page.ask("piece", **(good | change))["error"].endswith("open the file once more.")
    if change != {"upload": "x"}:
        assert "ended" in page.ask("piece", **good)["error"]


@pytest.mark.parametrize("size", [None, -1, "9", True, 25_165_825, 10**30])
def test_a_size_that_no_trace_has_is_refused(page: Page, size: object) -> None:
    assert page.ask("begin", size=size)["error"].endswith((".", "first."))


def test_a_file_that_did_not_arrive_whole_or_is_longer_than_it_said_is_refused(page: Page) -> None:
    name = page.ask("begin", size=20)["upload"]
    assert page.ask("piece", upload=name, number=0, data=base64.b64encode(bytes(8)).decode()) == {"have": 8}
    assert "whole" in page.ask("open", upload=name)["error"]
    name = page.ask("begin", size=4)["upload"]
    assert "ended" in page.ask("piece", upload=name, number=0, data=base64.b64encode(bytes(8)).decode())["error"]


def test_uploads_are_few_and_do_not_stay() -> None:
    clock = Clock()
    uploads = Uploads(clock)
    names = [uploads.begin(str(owner), 10) for owner in range(uploads_module.AT_ONCE)]
    with pytest.raises(Refused, match="in a moment"):
        uploads.begin("one more", 10)
    with pytest.raises(Refused, match="ended"):
        uploads.add("1", names[0], 0, "AAAA")
    uploads.begin("0", 10)  # a visitor's new one takes the place of the old one
    with pytest.raises(Refused, match="ended"):
        uploads.add("0", names[0], 0, "AAAA")
    clock.now += uploads_module.STALE_S + 1
    assert uploads.begin("one more", 10)
    assert len(uploads._open) == 1


def test_visitors_replay_independently_and_only_their_own(page: Page) -> None:
    registry = page.desk._registry
    other = Page(page.desk, registry.new().sid)
    mine, theirs = page.send(PACKED)["id"], other.send(PACKED)["id"]
    page.ask("go", id=mine, to=5)
    assert other.ask("look", id=theirs)["at"] == len(LINES) - 1
    assert other.ask("look", id=mine) == {"over": True} == page.ask("go", id=theirs, to=1)
    other.ask("close", id=mine)
    assert page.ask("look", id=mine)["at"] == 5
    page.ask("close", id=mine)
    assert page.ask("look", id=mine) == {"over": True}
    assert page.desk([json.dumps({"sid": "0" * 32, "do": "look", "id": theirs})]) == ""
    assert page.desk(["[" * 10_000]) == page.desk([7]) == page.desk(None) == ""


def test_the_inspector_looks_into_a_replay_as_into_a_session(page: Page) -> None:
    name = page.send(PACKED)["id"]
    page.ask("go", id=name, to=0)
    rounds = [place for place, event in enumerate(import_trace(PACKED), start=1) if event.kind == "round"]
    stream = page.ask("go", id=name, to=rounds[4])["delta"]["e"]
    service = SimpleNamespace(registry=page.desk._registry, engine=None)
    inspector = Inspector(cast(Any, service), page.desk.replays.shown)
    asked = {"sid": name, "e": stream}
    found = json.loads(inspector.inspect([asked | {"round": 5}]))
    assert found["round"] == 5 and "gone" not in found
    assert json.loads(inspector.inspect(asked | {"round": 6}))["gone"], "it has not come yet at this position"
    assert json.loads(inspector.turn(asked | {"round": 5}))
    assert inspector.inspect(asked | {"round": 5, "e": "x"}) == inspector.inspect({"sid": "x", "round": 5}) == ""
    assert inspector.record({"sid": name, "on": True}) == ""


def test_a_replay_ends_with_its_page_and_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    replays = Replays(clock)
    first = replays.open("a", PACKED)[0]
    clock.now += replays_module.TTL_S - 1
    assert replays.get("a", first) is not None, "and its lease begins anew"
    clock.now += replays_module.TTL_S + 1
    assert replays.sweep() == 1 and replays.get("a", first) is None
    own = [replays.open("a", PACKED)[0] for _ in range(replays_module.MOST_OF_ONE + 1)]
    assert [replays.get("a", name) is not None for name in own] == [False, True, True, True]
    monkeypatch.setattr(replays_module, "MOST", 3)
    with pytest.raises(Refused, match="as many traces as it has room for"):
        replays.open("b", PACKED)
    clock.now += replays_module.QUIET_S
    replays.open("b", PACKED)
    assert len(replays) == 3
    monkeypatch.setattr(replays_module, "MOST_BYTES", len(gzip.decompress(PACKED)) - 1)
    clock.now += replays_module.QUIET_S
    with pytest.raises(Refused, match="room"):
        replays.open("c", PACKED)
    with pytest.raises(ExchangeError, match="not JSON"):
        replays.open("c", b"hello")


def test_memory_is_given_back_though_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays_module, "TTL_S", 0.05)
    replays, gone = Replays(), threading.Event()
    replays.open("a", PACKED)
    for _ in range(100):
        if len(replays) == 0:
            gone.set()
            break
        threading.Event().wait(0.05)
    assert gone.is_set()
