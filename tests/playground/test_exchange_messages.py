"""The visitor's messages in a trace's file: only where they were asked for, each above the answer to it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from engine.errors import EngineError
from engine.trace import Trace
from playground.asked import KEPT, Asked
from playground.exchange import ExchangeError, export_trace, import_trace, trace_file
from playground.exchange.replay import record
from playground.exchange.replay_feed import ReplayFeed
from playground.exchange.trace_file import trace_of
from playground.handlers import Handlers
from playground.limits import TurnOptions
from playground.service import Service
from tests.playground.conftest import fake_service
from tests.playground.evil_corpus import CORPUS
from tests.playground.fakes import FakeTokenizer
from tests.playground.synthetic import SyntheticSession

SHORT = TurnOptions(max_new=5)


@pytest.fixture
def app() -> Iterator[Service]:
    with fake_service(answer=200) as app:
        yield app


def taken_along(app: Service, sid: str, **asked: Any) -> tuple[str, bytes]:
    file = json.loads(Handlers(app).trace_file([json.dumps({"sid": sid, **asked})]))
    return file["name"], gzip.decompress(base64.b64decode(file["data"]))


def questions_at(data: bytes, at: int | None = None) -> list[str]:
    """The messages that a replay shows at a position, the end by default."""
    recording = record(*trace_of(data))
    feed = ReplayFeed("r", recording)
    feed.seek(len(recording.events) if at is None else at)
    return [line[4] for line in feed.talk()]


def test_messages_are_in_the_file_only_where_that_was_asked_for(app: Service) -> None:
    talk = app.registry.new()
    talk.send("a secret", SHORT).result(5)
    plain = [taken_along(app, talk.sid, **asked) for asked in ({}, {"messages": False}, {"messages": "yes"})]
    for name, data in plain:
        assert b"secret" not in data and data == plain[0][1] and "messages" not in name
        assert questions_at(data) == [""]
    assert json.loads(Handlers(app).trace_file(talk.sid))["name"] == plain[0][0], "a bare id asks for none"
    name, data = taken_along(app, talk.sid, messages=True)
    assert name.startswith("draftscope-trace-words-with-messages-") and questions_at(data) == ["a secret"]
    assert list(import_trace(data)) == list(import_trace(plain[0][1]))
    assert Handlers(app).trace_file([json.dumps({"sid": "0" * 32, "messages": True})]) == ""


def test_each_answer_has_its_own_message_whatever_kind_of_turn_it_was(app: Service) -> None:
    talk = app.registry.new()
    talk.send("one", SHORT).result(5)
    talk.regenerate(SHORT).result(5)
    talk.continue_turn(SHORT).result(5)
    talk.send("two", SHORT).result(5)
    talk.edit(0, "another", SHORT).result(5)
    talk.rewind(cast(Any, talk.chat).session.points[0]).result(5)
    talk.continue_turn(SHORT).result(5)
    data = taken_along(app, talk.sid, messages=True)[1]
    assert questions_at(data) == ["one", "one", "two", "another", "another"]
    trace = import_trace(data)
    turns = [place for place, event in enumerate(trace, start=1) if event.kind == "turn"]
    for number, place in enumerate(turns):
        assert len(questions_at(data, place - 1)) == number and len(questions_at(data, place)) == number + 1
    talk.clear().result(5)
    talk.send("after", SHORT).result(5)
    data = taken_along(app, talk.sid, messages=True)[1]
    assert b"another" not in data and questions_at(data) == ["after"], "what was cleared is not taken along"
    app.start()  # the same model again: the trace goes on
    assert app.wait(10)
    talk.send("a new one", SHORT).result(5)
    assert questions_at(taken_along(app, talk.sid, messages=True)[1]) == ["after", "a new one"]
    cast(Any, talk.chat).engine.checkpoint.id = "another/model"
    app.start()
    assert app.wait(10)
    talk.send("a last one", SHORT).result(5)
    assert questions_at(taken_along(app, talk.sid, messages=True)[1]) == ["a last one"], "another model, another trace"


def test_of_a_long_session_the_latest_are_remembered() -> None:
    session, asked = SyntheticSession(1), Asked()
    for number in range(KEPT + 10):
        asked.note(session.trace, str(number))
        session.turn(prompt=1)
    found = list(asked.of(session.trace).values())
    assert found == [str(number) for number in range(10, KEPT + 10)]
    assert asked.of(SyntheticSession(2).trace) == {}


def talked(turns: int = 3) -> tuple[Trace, dict[int, str]]:
    session = SyntheticSession(1)
    for _ in range(turns):
        session.turn()
        session.round()
        session.end_burst()
    seqs = [event.seq for event in session.trace if event.kind == "turn"]
    return session.trace, {seq: f"message {number}" for number, seq in enumerate(seqs)}


def test_any_text_comes_back_and_a_lone_surrogate_as_what_a_file_can_carry() -> None:
    trace, messages = talked(len(CORPUS))
    messages = dict(zip(messages, CORPUS, strict=True))
    file = trace_of(export_trace(trace, FakeTokenizer(), messages=messages))
    carried = {seq: re.sub("[\ud800-\udfff]", "\ufffd", text) for seq, text in messages.items()}
    assert dict(file.messages) == carried != messages


def test_where_the_oldest_events_are_left_out_their_messages_are_too(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, messages = talked(30)
    whole = export_trace(trace, messages=messages)
    monkeypatch.setattr(trace_file, "LARGEST_FILE", len(whole) // 2)
    file = trace_of(export_trace(trace, messages=messages))
    assert 0 < len(file.messages) < 30 and list(file.messages.values())[-1] == "message 29"


def test_of_too_many_words_the_latest_messages_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playground.exchange.trace_messages.ALL_CHARS", 25)
    trace, messages = talked()
    assert list(trace_of(export_trace(trace, messages=messages)).messages.values()) == ["message 1", "message 2"]


def changed(**header: Any) -> bytes:
    trace, messages = talked()
    first, *rest = export_trace(trace, messages=messages).decode().splitlines()
    value = json.loads(first) | header
    return "\n".join([json.dumps({k: v for k, v in value.items() if v is not ...}), *rest]).encode()


def message(seq: Any = 0, text: Any = "x", **more: Any) -> list[dict[str, Any]]:
    return [{"seq": seq, "text": text, **more}]


REFUSED: list[tuple[str, Callable[[], bytes]]] = [
    ("not a field", lambda: changed(schema=1)),
    ("messages is missing", lambda: changed(messages=...)),
    ("later version", lambda: changed(schema=3)),
    ("messages: ", lambda: changed(messages="x")),
    ("seq", lambda: changed(messages=message(-1))),
    ("seq", lambda: changed(messages=message("0"))),
    ("seq", lambda: changed(messages=message(True))),
    ("text", lambda: changed(messages=message(text=7))),
    ("text", lambda: changed(messages=message(text="x" * 100_001))),
    ("not a field", lambda: changed(messages=message(role="user"))),
    ("Message 1 of the trace belongs to no turn", lambda: changed(messages=message(1))),
    ("Message 2 of the trace belongs to no turn", lambda: changed(messages=message() * 2)),
    ("messages", lambda: changed(messages=message() * 1001)),
    ("Message 1 of the trace belongs to no turn", lambda: changed(messages=message(2**53))),
]


@pytest.mark.parametrize(("words", "data"), REFUSED)
def test_messages_that_do_not_fit_are_refused_in_a_sentence(words: str, data: Callable[[], bytes]) -> None:
    with pytest.raises(ExchangeError, match=words) as refusal:
        trace_of(data())
    assert str(refusal.value).endswith(".") and str(refusal.value).isprintable()
    assert trace_of(changed()).messages, "the file that was changed is a lawful one"


def test_too_many_words_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = changed()
    monkeypatch.setattr("playground.exchange.trace_messages.ALL_CHARS", 5)
    with pytest.raises(ExchangeError, match="more than the 5 characters"):
        trace_of(data)


def test_a_script_that_knows_no_messages_is_told_so() -> None:
    with pytest.raises(EngineError, match="not the header of a trace of schema 1"):
        Trace.load(changed().decode().splitlines())
