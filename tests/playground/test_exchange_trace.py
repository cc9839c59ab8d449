"""Trace files: the same events and texts in another installation, and no file that could hurt it."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import re
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import events as ev
from engine.chat import ChatSession
from engine.trace import KINDS, Trace, TraceHeader
from playground.exchange import ExchangeError, export_trace, import_trace, trace_file
from playground.exchange.replay import record
from playground.exchange.replay_feed import PieceTokenizer, ReplayFeed
from playground.exchange.token_ids import FIELDS, ids_of
from playground.panels import LiveStatus, PanelFeed
from playground.panels.token_text import TokenTexts
from tests.playground.plays import act
from tests.playground.synthetic import SyntheticSession
from tests.playground.words import WORDS, WordTokenizer

actions = st.lists(st.integers(min_value=0, max_value=400), min_size=1, max_size=10)


def trace_of(codes: list[int]) -> Trace:
    session = SyntheticSession(1)
    for code in (40, *codes):
        act(session, code)
    return session.trace


TRACE = trace_of([8, 35, 33, 34, 12, 36, 9, 35])
LINES = export_trace(TRACE, WordTokenizer()).decode().splitlines()


@settings(max_examples=50, deadline=None)
@given(actions, st.booleans())
def test_events_and_header_come_back(codes: list[int], compressed: bool) -> None:
    trace = trace_of(codes)
    back = import_trace(export_trace(trace, WordTokenizer(), compressed=compressed))
    assert list(back) == list(trace) and back.next_seq == trace.next_seq
    assert dataclasses.replace(back.header, pieces={}) == trace.header
    assert export_trace(back, compressed=compressed) == export_trace(trace, WordTokenizer(), compressed=compressed)


@pytest.mark.parametrize(
    "words", [WORDS, ["\u2581x", " y", "\ufffd", "a\ufffd", "\u0301", "", "z" * 90, "\x00", "⟨1⟩", "▁"]]
)
def test_texts_are_shown_as_the_tokenizer_would_have_it(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.setattr("tests.playground.words.WORDS", words)
    trace = Trace(TraceHeader("x"))
    trace.append(ev.OvershootEvent(action="kept", tokens=tuple(range(len(words))), turn=0, pos=0))
    back = import_trace(export_trace(trace, WordTokenizer()))
    told, real = TokenTexts(PieceTokenizer(back.header.pieces)), TokenTexts(WordTokenizer())
    assert [told(token) for token in range(len(words))] == [real(token) for token in range(len(words))]
    assert told(10**6) == "⟨1000000⟩"


def test_a_real_session_opens_elsewhere(tiny_engine: Any) -> None:
    engine = tiny_engine("llama")
    chat = ChatSession(engine)
    chat.session.set_drafter("ngram", 5)
    chat.send("again and again and again", max_new=9)
    chat.continue_turn(max_new=5)
    chat.session.trace.append(ev.CheckEvent(identical=False, tokens=3, gap=float("inf")))
    data = export_trace(chat.session.trace, engine.tokenizer, compressed=True)
    back = import_trace(data)
    assert list(back)[:-1] == list(chat.session.trace)[:-1]
    assert list(back)[-1].gap is None, "no JSON has an infinity"
    assert back.header.settings["max_ctx"] == engine.max_ctx and back.header.versions["torch"]
    texts, told = TokenTexts(engine.tokenizer), TokenTexts(PieceTokenizer(back.header.pieces))
    assert {texts(t) == told(t) for event in back for t in ids_of(event)} == {True}
    chat.session.close()


def test_every_whole_number_of_an_event_is_known_to_be_an_id_or_not() -> None:
    counted = {
        *("accepted", "burst", "bytes", "committed", "common", "draft_len", "drawn", "draws", "dropped", "emitted"),
        *("history", "index", "max_ctx", "max_new", "overshoot", "pos", "prompt_tokens", "retained", "reused", "room"),
        *("round", "sctr", "seed", "seq", "start", "to", "turn", "uctr", "used", "visible", "width"),
    }
    for kind, cls in KINDS.items():
        # `tokens` is a count in some events and a list of ids in others
        whole = {f.name for f in dataclasses.fields(cls) if re.search(r"\bint\b", str(f.type))}
        counts = counted | ({"tokens"} if kind in ("prefill", "check") else set())
        assert whole - counts == set(FIELDS.get(kind, ())), kind


def test_what_does_not_fit_leaves_the_oldest_events_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_file, "LARGEST_FILE", len(LINES[0]) + 3_000)
    data = export_trace(TRACE, WordTokenizer())
    back = import_trace(data)
    assert 0 < len(back) < len(TRACE) and list(back) == list(TRACE)[-len(back) :] and back.dropped > 0
    assert 2_000 < len(data) - len(LINES[0]) <= 3_000


def test_a_trace_can_be_exported_while_its_session_runs() -> None:
    trace, done = Trace(TraceHeader("x"), capacity=40), threading.Event()

    def run() -> None:
        while not done.wait(0.0002):
            trace.append(ev.ContextEvent(action="clamped", used=1, max_ctx=2))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        for _ in range(30):
            back = import_trace(export_trace(trace, WordTokenizer()))
            assert [event.seq for event in back] == list(range(back.dropped, back.next_seq))
    finally:
        done.set()
        thread.join(5)


def bomb(size: int) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as file:
        file.write("".join(f"{line}\n" for line in LINES).encode())
        for _ in range(size // 2**20):
            file.write(b" " * 2**20)
    return out.getvalue()


def changed(**fields: Any) -> Callable[[], bytes]:
    """The trace with fields of its first round changed."""

    def make() -> bytes:
        rows = [json.loads(line) for line in LINES]
        next(row for row in rows if row["kind"] == "round").update(fields)
        return "\n".join(json.dumps(row) for row in rows).encode()

    return make


def header(**fields: Any) -> Callable[[], bytes]:
    return lambda: "\n".join([json.dumps(json.loads(LINES[0]) | fields), *LINES[1:]]).encode()


PACKED = gzip.compress("\n".join(LINES).encode())
REFUSED: list[tuple[str, Callable[[], bytes]]] = [
    ("empty", lambda: b""),
    ("empty", lambda: gzip.compress(b"")),
    ("not JSON", lambda: b"hello"),
    ("not the header", lambda: "\n".join(LINES[1:]).encode()),
    ("not UTF-8", lambda: b"\xff\xfe"),
    ("cut short", lambda: PACKED[: len(PACKED) // 2]),
    ("cut short", lambda: PACKED[:-4]),
    ("damaged", lambda: PACKED[:50] + b"\x00\xff\x00\xff" + PACKED[54:]),
    ("damaged", lambda: PACKED[:-8] + b"\x00" * 8),
    ("behind its end", lambda: PACKED + PACKED),
    ("64 MiB", lambda: bomb(96 * 2**20)),
    ("compressed trace has at most", lambda: b"\x1f\x8b" + bytes(trace_file.LARGEST_PACKED)),
    ("later version", header(schema=3)),
    ("schema is not", header(schema=True)),
    ("checkpoint: input should be a valid string", header(checkpoint=5)),
    ("pieces.x", header(pieces={"x": "y"})),
    ("pieces.7", header(pieces={"7": "x" * 10_000_000})),
    ("colour is not a field", header(colour=1)),
    ("settings.a", header(settings={"a": {"b": {}}})),
    ("Line 3 .* not a JSON object", lambda: "\n".join([*LINES[:2], LINES[2][:-5]]).encode()),
    ("Line 3 .* not a JSON object", lambda: "\n".join([*LINES[:2], '{"a":' * 9999]).encode()),
    ("Line 3 .* not a JSON object", lambda: "\n".join([*LINES[:2], '{"kind": "round", "kind": "turn"}']).encode()),
    ("Line 3 .* empty", lambda: "\n".join([*LINES[:2], "", *LINES[2:]]).encode()),
    ("Line 2 .* too long", lambda: (LINES[0] + "\n" + " " * 2_000_000).encode()),
    ("Line 1 .* too long", lambda: b" " * 20_000_000),
    ("60,000 events", lambda: "\n".join([LINES[0], *["{}"] * 60_000]).encode()),
    ("kind this version does not know", lambda: (LINES[0] + '\n{"kind": "surprise"}').encode()),
    ("fields of its kind", changed(accepted="2")),
    ("fields of its kind", changed(mode="x")),
    ("fields of its kind", changed(colour=1)),
    ("fields of its kind", changed(trunk_top=[[[1, "x"]]])),
    ("add up", changed(accepted=99)),
    ("add up", changed(emitted=99)),
    ("add up", changed(drafted=[1] * 400)),
    ("token that is none", changed(pending=-1)),
    ("token that is none", changed(bonus=2**40)),
    ("out of order", changed(seq=0)),
    ("seq", changed(seq=-1)),
    ("time", changed(t=-1.0)),
    ("too large", changed(pos=2**60)),
    ("too large", changed(drafter="x" * 200_000)),
    ("too large", changed(verify_ms=1e200)),
    ("not a JSON object", lambda: changed(t=0.5)().replace(b'"t": 0.5', b'"t": NaN')),
    ("time", lambda: changed(t=0.5)().replace(b'"t": 0.5', b'"t": 1e999')),
    ("round must be later", lambda: changed(round=7)().replace(b'"round": 1,', b'"round": 3,')),
]


@pytest.mark.parametrize(("words", "data"), REFUSED)
def test_what_is_no_trace_of_ours_is_refused_in_a_sentence(words: str, data: Callable[[], bytes]) -> None:
    with pytest.raises(ExchangeError, match=words) as refusal:
        import_trace(data())
    sentence = str(refusal.value)
    assert sentence.endswith(".") and len(sentence) < 300 and sentence.isprintable()


def test_a_bomb_is_not_unpacked() -> None:
    """A gibibyte of zeros: no more memory than a file may need."""
    packer = zlib.compressobj(1, wbits=31)
    piece = bytes(2**20)
    data = b"".join(packer.compress(piece) for _ in range(1024)) + packer.flush()
    tracemalloc.start()
    with pytest.raises(ExchangeError, match="64 MiB"):
        import_trace(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * trace_file.LARGEST_FILE


values = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 12), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=3),
    st.lists(st.integers(-1, 9), max_size=9), st.sampled_from(["clear", "prime", "drop", "kept", "FAILED", "consume"]),
)  # fmt: skip


def values_like(old: object) -> st.SearchStrategy[Any]:
    """Values of the same type, so that the rules and not the types decide."""
    others = sorted(
        {repr(v): v for row in map(json.loads, LINES[1:]) for v in row.values() if type(v) is type(old)}.items()
    )
    return st.integers(-2, 60) if type(old) is int else st.sampled_from([value for _, value in others])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_trace_that_is_taken_can_be_shown(data: st.DataObject) -> None:
    rows = [json.loads(line) for line in LINES]
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.sampled_from(rows[1:]))
        name = data.draw(st.sampled_from(sorted(row.keys() - {"kind", "seq"})))
        row[name] = data.draw(values_like(row[name]) if data.draw(st.integers(0, 4)) else values)
    if data.draw(st.booleans()):
        del rows[data.draw(st.integers(1, len(rows) - 1))]
    try:
        trace = import_trace("\n".join(json.dumps(row) for row in rows).encode("utf-8", "replace"))
    except ExchangeError as error:
        trace, sentence = None, str(error)
        assert_sentence(sentence)
    if trace is not None:
        show(trace)


def assert_sentence(text: str) -> None:
    assert text.endswith(".") and text.isprintable()


def show(trace: Trace) -> None:
    feed = ReplayFeed("r", record(trace))
    for index in range(0, len(trace) + 1, 7):
        json.loads(feed.seek(index))
    json.loads(feed.seek(0))
    json.loads(PanelFeed("s", WordTokenizer()).update(trace.since(0), LiveStatus()))


def test_without_the_rules_a_panel_trips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth: types alone do not keep a lying trace from the panels."""
    monkeypatch.setattr(trace_file, "check_events", lambda events: None)
    with pytest.raises((AssertionError, IndexError)):
        show(import_trace(changed(accepted=99)()))
