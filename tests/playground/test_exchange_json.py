"""Conversations as JSON: what goes out comes in again, and what is not ours is refused in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.exchange import ExchangeError, conversation_json, export_json, export_markdown, import_json
from playground.store import Node, Said, Talk, open_store
from playground.store.checks import MESSAGES, check_talk
from tests.playground.talks import SID, path, talks

ANSWER = Said("assistant", "hi", (5, 6), "i", ("first", "bonus"), "tiny", {"drafter": "ngram", "rate": 0.5})
TALK = Talk(
    name="A <b>name</b>",
    created=1.5,
    updated=2.5,
    system="be kind",
    settings={"max_new": 64, "stop": ["\n"], "seed": None, "top_p": 0.9},
    nodes=(Node(4, None, Said("user", "hello"), 1.5), Node(7, 4, ANSWER), Node(9, 4, Said("assistant", "other"))),
    current=9,
)


def by_place(talk: Talk) -> Talk:
    """With the ids that an import gives."""
    places: dict[int | None, int] = {node.id: place for place, node in enumerate(talk.nodes)}
    nodes = tuple(replace(n, id=places[n.id], parent=places.get(n.parent)) for n in talk.nodes)
    return replace(talk, nodes=nodes, current=places.get(talk.current))


def test_all_of_a_conversation_comes_back() -> None:
    assert import_json(export_json(TALK)) == by_place(TALK)
    assert export_json(import_json(export_json(TALK))) == export_json(TALK)


@settings(max_examples=150, deadline=None)
@given(talks())
def test_any_lawful_conversation_comes_back(talk: Talk) -> None:
    assert import_json(export_json(talk)) == by_place(check_talk(talk))


def test_a_message_is_a_line_and_empty_fields_are_left_out() -> None:
    lines = export_json(TALK).decode().splitlines()
    assert sum('"role"' in line for line in lines) == 3
    assert json.loads(lines[-3]) == {"role": "assistant", "content": "other", "parent": 0, "created": 0.0}


def fields(**changes: Any) -> bytes:
    return json.dumps(json.loads(export_json(TALK)) | changes).encode()


def message(place: int, **changes: Any) -> bytes:
    value = json.loads(export_json(TALK))
    value["messages"][place] |= changes
    return json.dumps(value).encode()


def without(name: str) -> bytes:
    value = json.loads(export_json(TALK))
    del value[name]
    return json.dumps(value).encode()


REFUSED: list[tuple[str, Callable[[], bytes]]] = [
    ("Line 1, column 1", lambda: b""),
    ("Line 2, column 3", lambda: b'{"draftscope":\n  nope}'),
    ("Line 3 of the file is not UTF-8", lambda: b"{\n\n\xff}"),
    ("not a conversation of Draftscope", lambda: b"[]"),
    ("not a conversation of Draftscope", lambda: b'{"draftscope": "trace"}'),
    ("later version", lambda: fields(schema=2)),
    ("schema is not the number 1", lambda: fields(schema=0)),
    ("schema is not the number 1", lambda: fields(schema=True)),
    ("system is missing", lambda: without("system")),
    ("colour is not a field", lambda: fields(colour="red")),
    (r"messages\[1\].sound is not a field", lambda: message(1, sound="loud")),
    (r"messages\[0\].role: input should be", lambda: message(0, role="system")),
    (r"messages\[1\].tokens\[0\]: input should be a valid integer", lambda: message(1, tokens=["5"])),
    (r"messages\[1\].tokens\[0\]: input should be a valid integer", lambda: message(1, tokens=[True])),
    (r"messages\[1\].tokens\[0\]", lambda: message(1, tokens=[10**30])),
    (r"messages\[1\].tokens\[0\]", lambda: message(1, tokens=[-1])),
    (r"messages\[1\].origins", lambda: message(1, origins="fz")),
    ("Message 2 has origins", lambda: message(1, origins="f")),
    (r"messages\[0\].content: string should have at most", lambda: message(0, content="x" * 10_000_000)),
    (r"messages\[0\].parent is not the place", lambda: message(0, parent=0)),
    (r"messages\[1\].parent is not the place", lambda: message(1, parent=2)),
    (r"messages\[1\].parent is not the place", lambda: message(1, parent=-1)),
    ("Message 2 is out of turn", lambda: message(1, parent=None)),
    ("current message", lambda: fields(current=3)),
    ("created: input should be a finite number", lambda: fields().replace(b'"created": 1.5', b'"created": 1e999', 1)),
    ("NaN", lambda: fields(created=float("nan"))),
    ("too many digits", lambda: b'{"created": ' + b"9" * 5000 + b"}"),
    ("Setting", lambda: fields(settings={"a": "x" * 10_000})),
    ("settings.a", lambda: fields(settings={"a": {"b": 1}})),
    ("setting's name", lambda: fields(settings={"__class__": 1})),
    ("name has 10,000 characters", lambda: fields(name="x" * 10_000)),
    ("messages: list should have at most", lambda: fields(messages=[{"role": "user"}] * (MESSAGES + 1))),
    ("name twice", lambda: fields().replace(b'"name"', b'"name": "", "name"', 1)),
    ("nested too deeply", lambda: b"[" * 200_000),
    ("nested too deeply", lambda: b'{"a":' * 200_000),
    ("at most 25,165,824", lambda: b" " * (conversation_json.LARGEST_FILE + 1)),
    ("⟨|x is not a field", lambda: fields(**{"⟨|x\x00\n\u202e": 1})),
]


@pytest.mark.parametrize(("words", "data"), REFUSED)
def test_what_is_not_ours_is_refused_with_the_line_or_the_field(words: str, data: Callable[[], bytes]) -> None:
    with pytest.raises(ExchangeError, match=words) as refusal:
        import_json(data())
    sentence = str(refusal.value)
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 300 and sentence.isprintable()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_file_with_a_scratch_is_read_whole_or_refused(data: st.DataObject) -> None:
    good = bytearray(export_json(TALK))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(good) - 1))
        good[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        check_talk(import_json(bytes(good)))
    except ExchangeError as error:
        sentence = str(error)
    else:
        sentence = "Read."
    assert sentence.endswith(".") and sentence.isprintable()


def test_the_session_id_stays_at_home(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store:
        store.create(SID)
        store.save_path(SID, path("hello", "hi"))
        assert SID.encode() not in export_json(store.load(SID)) + export_markdown(store.load(SID))


def test_a_conversation_too_large_for_an_import_is_not_exported() -> None:
    nodes = tuple(Node(i, i - 1 if i else None, said) for i, said in enumerate(path(*["\x00" * 900_000] * 5)))
    with pytest.raises(ExchangeError, match="24 MiB"):
        export_json(Talk(nodes=nodes, current=4))


def test_a_model_that_takes_unknown_fields_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth: the same file, read without `extra="forbid"`."""

    class Loose(conversation_json.ConversationFields, extra="ignore"):
        pass

    with pytest.raises(ExchangeError):
        import_json(fields(colour="red"))
    monkeypatch.setattr(conversation_json, "ConversationFields", Loose)
    import_json(fields(colour="red"))
