"""A conversation as a tree of branches, and as a file to take along."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from engine.chat.prompt import Answer
from playground.conversations.desk import Desk
from playground.conversations.files import LARGEST, file_of, talk_of
from playground.conversations.tree import tree_of
from playground.exchange import ExchangeError
from playground.handlers import Handlers
from playground.store import Node, Said, Talk
from playground.store.transcripts import spells
from tests.playground.kept import OPTIONS, Start, packed, said


def forked() -> Talk:
    """one-a-(two-b-(three), other)-, current at b."""
    texts: list[tuple[int | None, str]] = [(None, "one"), (0, "a"), (1, "two"), (2, "b"), (3, "three"), (1, "other")]
    nodes = [
        Node(place, parent, Said("user" if len(text) > 1 else "assistant", text), 1.0)
        for place, (parent, text) in enumerate(texts)
    ]
    return Talk(name="</title> ä", created=1.0, updated=2.0, nodes=tuple(nodes), current=3)


def test_the_tree_nests_branches_and_says_what_is_shown() -> None:
    (root,) = tree_of(forked())
    (below,) = root.pop("below")
    assert root == {"node": 4, "label": "one", "after": 0, "messages": 5, "current": True, "shown": 4}
    assert (below["label"], below["after"], below["messages"], below["current"], below["shown"]) == (
        "other", 2, 3, False, None,
    )  # fmt: skip


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_a_file_comes_back_as_it_was_shown(form: str) -> None:
    file = file_of(forked(), form)
    assert file["name"] == f"draftscope-title.{'json' if form == 'json' else 'md'}"
    talk = talk_of(packed(file["text"].encode()))
    assert [n.said.content for n in talk.path] == ["one", "a", "two", "b"] and talk.name == "</title> ä"
    assert len(talk.nodes) == (6 if form == "json" else 4)


def test_a_file_names_no_path_and_its_ids_serve_again_on_the_same_model() -> None:
    path = "/home/someone/models/words-1b"
    made = Said("assistant", "a", (11,), checkpoint=path, drafting={"drafter": "model:/home/someone/tiny"})
    talk = replace(forked(), nodes=(Node(0, None, Said("user", "q"), 1.0), Node(1, 0, made, 1.0)), current=1)
    text = file_of(talk, "json")["text"]
    assert "someone" not in text and "words-1b" in text and "model:tiny" in text
    assert talk_of(packed(text.encode()), path).nodes[1].said.checkpoint == path
    assert talk_of(packed(text.encode()), "/else/other").nodes[1].said.checkpoint == "words-1b"


@pytest.mark.parametrize(
    ("file", "says"),
    [
        pytest.param(None, "did not arrive whole", id="nothing"),
        pytest.param("%%%", "did not arrive whole", id="no_base64"),
        pytest.param(base64.b64encode(b"no gzip").decode(), "did not arrive whole", id="no_gzip"),
        pytest.param(packed(b"x" * 1000)[:-24], "did not arrive whole", id="cut_short"),
        pytest.param(packed(b"hello"), "is not a heading with the name", id="prose"),
        pytest.param(packed(b"{}"), "is not a conversation of Draftscope", id="an_empty_object"),
        pytest.param(packed(b"{"), "is not JSON", id="broken_json"),
        pytest.param(packed(b"\xff\xfe"), "not UTF-8", id="bytes"),
        pytest.param(packed(b" " * (LARGEST + 1)), "larger than the 8 MiB", id="too_large"),
        pytest.param(packed(file_of(Talk(), "json")["text"].encode()), "holds no message", id="no_messages"),
    ],
)
def test_what_is_no_file_of_ours_is_one_sentence(start: Start, file: object, says: str) -> None:
    app = start()
    sid = said(app, "one")
    answer = Desk(app).answer({"sid": sid, "do": "import", "file": file})
    assert says in answer["error"] and answer["error"].endswith(".")
    assert len(app.keeper.store.list_conversations(all=True)) == 1


def test_a_file_opens_as_a_conversation_of_its_own(start: Start) -> None:
    app = start()
    sid = said(app, "one", "two")
    desk = Desk(app)
    text = desk.answer({"sid": sid, "do": "export", "form": "json"})["text"]
    answer = desk.answer({"sid": sid, "do": "import", "file": packed(text.encode())})
    talk = app.registry.get(answer["open"])
    assert talk.sid != sid and talk.view().messages == app.registry.get(sid).view().messages
    talk.send("three", OPTIONS).result(5)
    assert len(talk.view().messages) == 6 and len(app.registry.get(sid).view().messages) == 4
    with pytest.raises(ExchangeError, match="as json or markdown"):
        desk.export({"sid": sid, "form": "exe"})


def test_ids_that_do_not_say_the_text_are_not_believed(tiny_engine: Any) -> None:
    from engine.chat import ChatSession
    from engine.chat.detokenize import Vocabulary

    engine = tiny_engine("llama", max_ctx=512)
    vocabulary = Vocabulary(engine.tokenizer)
    chat = ChatSession(engine)
    for length in (1, 7, 20):
        chat.send("The quick brown fox", length)
    answers = [e.answer for e in chat.transcript.exchanges if e.answer is not None]
    assert len(answers) == 3 and all(spells(vocabulary, answer) for answer in answers)
    true = answers[-1]
    frame = next(iter(vocabulary.special))
    for wrong in (
        Answer((*true.ids[:-1], true.ids[-1] ^ 1), true.text),
        Answer((frame, *true.ids), true.text),
        Answer((*true.ids, 2**31 - 1), true.text),
        Answer(true.ids, true.text + " more"),
        Answer(true.ids, true.text, "other"),
    ):
        assert not spells(vocabulary, wrong)
    chat.session.close()


def test_a_trace_is_named_without_reading_the_conversation(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start()
    sid = said(app, "one")
    app.keeper.store.rename(sid, "A long talk")

    def load(*_: object) -> None:
        raise AssertionError("all of it is read")

    monkeypatch.setattr(app.keeper.store, "load", load)
    assert json.loads(Handlers(app).trace_file([sid]))["name"].startswith("draftscope-trace-a-long-talk-")
