"""What the page asks, on a real session: every way of choosing, after a rewind, after a clear, and out of the trace."""

from __future__ import annotations

import json
from collections import deque
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine.chat import ChatSession
from engine.sampling import SamplingParams
from playground.inspector.calls import Inspector
from playground.inspector.recording import TOP, recorded
from playground.limits import Refused
from playground.panels import LiveStatus
from playground.stream import DeltaStream

WARM = SamplingParams(temperature=0.9, seed=5)
SID = "a" * 32


class Talk:
    """A conversation as the inspector sees it, and one page that looks at it."""

    def __init__(self, engine: Any, drafter: str = "ngram") -> None:
        self.chat = ChatSession(engine)
        self.chat.session.set_drafter(drafter, 4)
        self.chat.session.alternatives = TOP
        self.stream = DeltaStream(SID, engine.tokenizer, self.trace)
        self.alternatives: bool | None = None
        self.inspector = Inspector(cast(Any, SimpleNamespace(engine=engine, registry=self)))
        self.page: dict[str, Any] = {}
        self._marks = 0

    @property
    def trace(self) -> Any:
        return self.chat.session.trace

    def get(self, sid: object) -> Talk:
        if sid != SID:
            raise Refused("No session has this id.")
        return self

    def record_alternatives(self, on: bool) -> None:
        self.alternatives = on

    def look(self) -> None:
        self._marks += 1
        self.stream.pump(self._marks, lambda: LiveStatus(running=False))
        self.page = json.loads(self.stream.full(lambda: LiveStatus(running=False)))

    def ask(self, what: str, **question: Any) -> Any:
        answer = getattr(self.inspector, what)([{"sid": SID, "e": self.page.get("e"), **question}])
        return json.loads(answer) if answer else None

    def rounds(self) -> list[Any]:
        return [event for event in self.chat.session.trace if event.kind == "round"]


@pytest.fixture
def talk(tiny_engine: Any) -> Talk:
    return Talk(tiny_engine("llama", max_ctx=512))


@pytest.mark.parametrize("verify", [None, "rejection", "coupled"])
def test_every_round_is_told_as_the_trace_has_it(tiny_engine: Any, tiny_checkpoint: Any, verify: str | None) -> None:
    talk = Talk(tiny_engine("llama", max_ctx=512), drafter=f"model:{tiny_checkpoint('llama')}")
    how: dict[str, Any] = {} if verify is None else {"sampling": WARM, "verify": verify}
    talk.chat.send("again again again again", max_new=24, burst=9, **how)
    talk.look()
    for place, event in enumerate(talk.rounds()):
        shown = talk.ask("inspect", round=place + 1)
        assert (shown["round"], shown["turn"], shown["mode"]) == (place + 1, 1, verify or "greedy")
        ids = [column["id"] for column in shown["columns"]]
        assert ids == [*event.drafted, *([] if event.bonus is None else [event.bonus])]
        kept = [column["id"] for column in shown["columns"] if column["kept"]]
        assert len(kept) == event.emitted and shown["recorded"]
        own = shown["columns"][-1]
        assert event.bonus is None or 1 <= len(own["trunk"]) <= TOP
        if verify is None and event.bonus is not None:
            assert own["trunk"][0][0] == own["id"]
        tests = [column["test"] for column in shown["columns"][: event.accepted + event.correction]]
        if verify == "rejection":
            numbers = zip(event.test_p, event.test_q, event.test_u, strict=True)
            assert [(test["p"], test["q"], test["u"]) for test in tests] == list(numbers)
        for test in tests:
            if test["kind"] == "chance":
                assert test["passed"] == (test["u"] * test["q"] < test["p"])
            else:
                assert test["passed"] == (test["draft"] == test["choice"])
    assert talk.rounds() and any(event.drafted for event in talk.rounds())


def test_without_a_drafter_every_round_is_plain(tiny_engine: Any) -> None:
    talk = Talk(tiny_engine("llama", max_ctx=512), drafter="none")
    talk.chat.send("again again", max_new=5)
    talk.look()
    assert [column["fate"] for column in talk.ask("inspect", round=2)["columns"]] == ["plain"]


def test_the_first_token_after_a_rewind_is_not_the_prompts(talk: Talk) -> None:
    talk.chat.send("again again", max_new=6)
    talk.look()
    first = talk.ask("inspect", number=None, place=0)
    assert first["origin"] == "first token of the turn" and "prefill" in first["says"]["engineer"]
    talk.chat.regenerate(max_new=6)
    talk.look()
    assert talk.page["t"][0] == 1
    second = talk.ask("inspect", number=None, place=0)
    assert (second["turn"], second["id"]) == (2, first["id"])
    assert "kept at the rewind point" in second["says"]["engineer"]
    before = talk.ask("turn", number=None, step=-1)
    assert (before["turn"], before["gone"], before["number"]) == (0, True, 0)
    assert talk.ask("inspect", number=0, place=0)["says"] == first["says"]
    assert talk.ask("turn", round=1)["number"] == 0 and talk.ask("turn", turn=1)["number"] is None


def test_after_a_clear_rounds_count_anew_and_the_old_stream_is_not_answered(talk: Talk) -> None:
    talk.chat.send("again again", max_new=8)
    talk.look()
    old = talk.page["e"]
    talk.chat.clear()
    talk.look()
    assert talk.ask("inspect", round=1)["gone"]
    talk.chat.send("and now", max_new=8)
    talk.look()
    shown = talk.ask("inspect", round=1)
    later = [event for event in talk.rounds() if event.turn == talk.chat.session.turn]
    assert (shown["pos"], shown["turn"]) == (later[0].pos, 1)
    assert talk.inspector.inspect({"sid": SID, "e": old, "round": 1}) == ""


def test_what_has_left_the_trace_says_so_in_a_sentence(talk: Talk) -> None:
    talk.chat.send("again again", max_new=20)
    talk.look()
    trace = talk.chat.session.trace
    trace._events = deque(list(trace)[-4:], maxlen=4)
    assert "have left the trace" in talk.ask("inspect", round=1)["gone"]
    assert "have left the trace" in talk.ask("inspect", number=None, place=0)["gone"]


def test_recording_is_a_wish_and_off_where_the_device_is_read_once(talk: Talk) -> None:
    assert talk.ask("record") == {"on": True}
    assert talk.ask("record", on=False) == {"on": False} and talk.alternatives is False
    gpu = cast(Any, SimpleNamespace(device_path=object()))
    assert recorded(gpu, None) == 0 and recorded(gpu, True) == TOP


@pytest.mark.parametrize("data", [None, 7, "x", [], [None], {}, {"sid": 7}, {"sid": "b" * 32}, [[{"sid": SID}]]])
def test_unknown_ids_and_nonsense_get_no_answer(talk: Talk, data: object) -> None:
    for function in (talk.inspector.inspect, talk.inspector.turn, talk.inspector.record):
        assert function(data) == ""


@pytest.mark.parametrize("wrong", [{}, {"round": "1"}, {"round": -(10**30)}, {"number": {}, "place": []}, {"step": 9}])
def test_a_wrong_question_to_a_known_session_raises_nothing(talk: Talk, wrong: dict[str, Any]) -> None:
    talk.chat.send("again", max_new=4)
    talk.look()
    for what in ("inspect", "turn", "record"):
        talk.ask(what, **wrong)
