"""Conversations that last: kept after each turn, brought back by their own id alone, branched, listed, and as files."""

from __future__ import annotations

import base64
import gzip
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from engine.chat.prompt import Answer
from playground.conversations.desk import IN_MEMORY, ON_DISK, ON_SERVER, Desk
from playground.conversations.files import LARGEST, file_of, talk_of
from playground.conversations.tree import tree_of
from playground.exchange import ExchangeError
from playground.keeper import Keeper, open_keeper, passing_keeper
from playground.limits import Refused, TurnOptions
from playground.service import Service, chat_of
from playground.settings import Settings
from playground.store import Node, Said, StoreError, Talk, open_store
from playground.store.transcripts import spells
from tests.playground.fakes import FakeChat, FakeEngine

Start = Callable[..., Service]
OPTIONS = TurnOptions(max_new=8)
REAL = TurnOptions(max_new=8, drafter="none", draft_len=0)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """`start()` runs a service on one folder; a second one finds what the first one kept."""
    running: list[Service] = []

    def build(engine: Any = None, keeper: Keeper | None = None, **settings_of: Any) -> Service:
        for former in running:
            former.close()
        running.clear()
        settings = Settings(**settings_of)
        own = engine or FakeEngine(answer=5)
        if engine:
            monkeypatch.setattr(engine, "close", lambda: None)  # other tests share it
        chats = chat_of if engine else cast(Any, FakeChat)
        app = Service(settings, lambda *_: own, chats, keeper=keeper or Keeper(open_store(tmp_path)))
        app.start()
        assert app.wait(10)
        running.append(app)
        return app

    yield build
    for app in running:
        app.close()


def said(app: Service, *messages: str, options: TurnOptions = OPTIONS) -> str:
    """A conversation of these messages; its id."""
    talk = app.registry.new()
    for message in messages:
        talk.send(message, options).result(20)
    return talk.sid


def packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data)).decode()


# --- after a restart -------------------------------------------------------------------------------------------------


def test_after_a_restart_a_conversation_is_there_by_its_id(start: Start) -> None:
    app = start()
    sid = said(app, "one", "two", options=TurnOptions(max_new=8, system="be brief", temperature=0.5))
    before = app.registry.get(sid).view().messages
    app = start()
    talk = app.registry.get(sid)
    view = talk.view()
    assert view.messages == before and not view.running and not view.can_continue
    assert view.notice == "Restored after a restart: what was said is read again with your next message."
    assert talk.options is not None and (talk.options.system, talk.options.temperature) == ("be brief", 0.5)
    assert talk.chat is None, "nothing is computed before the next message"
    assert app.registry.get(sid) is talk
    talk.send("three", talk.options).result(5)
    assert talk.view().messages[:4] == before and cast(Any, talk.chat).system == "be brief"
    with pytest.raises(Refused, match="No session has this id"):
        app.registry.get("0" * 32)


def test_the_restored_conversation_goes_on_with_the_very_tokens(start: Start, tiny_engine: Any) -> None:
    engine = tiny_engine("llama", max_ctx=512)
    app = start(engine)
    sid = said(app, "The quick brown fox", "jumps", options=REAL)
    chat = app.registry.get(sid).chat
    assert chat is not None
    kept, rows = chat.transcript, len(chat.session.history)
    expected = app.registry.get(sid).send("over?", REAL).result(20).tokens
    app.keeper.switch(sid, app.keeper.store.load(sid).path[3].id)  # as it was before the last message
    app = start(engine)
    talk = app.registry.get(sid)
    count = int(talk.view().notice.removeprefix("Restored after a restart: ").split()[0])
    assert rows <= count <= rows + 12, "what was said, and the frame up to the next message"
    assert talk.send("over?", REAL).result(20).tokens == expected
    assert talk.chat is not None and talk.chat.transcript.exchanges[:2] == kept.exchanges
    read = next(e for e in talk.chat.session.trace if e.kind == "turn")
    assert count < read.prompt_tokens and read.reused == 0


def test_settings_that_are_not_offered_any_more_fall_back(start: Start) -> None:
    app = start()
    sid = said(app, "one", options=TurnOptions(max_new=8, draft_len=7, system="keep me"))
    app.keeper.store.save_path(sid, [], settings={"drafter": "model:gone", "max_new": 9})
    talk = start().registry.get(sid)
    assert talk.options == TurnOptions(system="keep me")


def test_a_conversation_that_ended_its_lease_is_opened_again(start: Start) -> None:
    app = start()
    sid = said(app, "one")
    app.registry._ttl_s = -1.0
    assert app.registry.sweep() == 1
    assert app.registry.get(sid).view().notice.startswith("Opened again: ")


def test_what_was_only_opened_is_not_kept(start: Start) -> None:
    app = start()
    talk = app.registry.new()
    talk.clear().result(5)
    assert talk.sid not in app.keeper.store


# --- keeping ---------------------------------------------------------------------------------------------------------


def test_what_cannot_be_kept_is_one_sentence_and_the_conversation_goes_on(
    start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from playground.status import status_line

    app = start()
    talk = app.registry.new()
    for problem in (StoreError("The disk is full."), KeyError("secret")):
        with monkeypatch.context() as patch, caplog.at_level(logging.CRITICAL):

            def refuse(*_: Any, problem: Exception = problem, **__: Any) -> None:
                raise problem

            patch.setattr(app.keeper.store, "save_path", refuse)
            assert talk.send("hello", OPTIONS).result(5).tokens
        line = status_line(talk.view(), app.status, 0)
        assert line.startswith("Done: ") and "This conversation is not being kept. " in line and "secret" not in line
    talk.send("again", OPTIONS).result(5)
    assert talk.view().unkept == "" and len(app.keeper.store.load(talk.sid).path) == 6


def test_edit_rewind_and_clear_lose_nothing(start: Start) -> None:
    app = start()
    sid = said(app, "one", "two")
    talk = app.registry.get(sid)
    before = talk.view().messages
    talk.edit(1, "another two", OPTIONS).result(5)
    talk.rewind(cast(Any, talk.chat).session.points[0]).result(5)
    assert talk.view().notice.startswith("Back at message 1: ") and "stays as a branch" in talk.view().notice
    talk.send("another one", OPTIONS).result(5)
    talk.clear().result(5)
    kept = app.keeper.store.load(sid)
    assert kept.path == () and [b.label for b in app.keeper.store.branches(sid)] == [
        "one",
        "another two",
        "another one",
    ]
    leaf = app.keeper.store.branches(sid)[0].leaf
    talk.show_branch(leaf, app.engine).result(5)
    assert talk.view().messages == before
    talk.send("three", OPTIONS).result(5)
    assert talk.view().messages[:4] == before and len(app.keeper.store.load(sid).path) == 6


def test_a_branch_is_shown_with_the_exact_messages_and_reads_only_what_it_must(start: Start, tiny_engine: Any) -> None:
    engine = tiny_engine("llama", max_ctx=512)
    app = start(engine)
    sid = said(app, "The quick brown fox", "jumps", options=REAL)
    talk = app.registry.get(sid)
    first = talk.view().messages
    talk.edit(1, "sleeps", REAL).result(20)
    second = talk.view().messages
    one, other = app.keeper.store.branches(sid)
    for leaf, messages in ((one.leaf, first), (other.leaf, second), (one.leaf, first)):
        talk.show_branch(leaf, app.engine).result(5)
        assert talk.view().messages == messages
    assert talk.view().notice.startswith("This branch: ") and "read again with your next message" in talk.view().notice
    with pytest.raises(Refused, match="not in the caches yet"):
        talk.check()
    count = int(talk.view().notice.split()[2])
    talk.send("and then?", REAL).result(20)
    assert talk.chat is not None
    read = [e for e in talk.chat.session.trace if e.kind == "turn"][-1]
    assert read.reused > 0 and count < read.prompt_tokens - read.reused + 1
    assert talk.check().result(20).identical


def test_a_branch_waits_for_the_engine_too(start: Start) -> None:
    app = start()
    sid = said(app, "one")
    app.registry.get(sid).edit(0, "two", OPTIONS).result(5)
    app = start()
    talk = app.registry.get(sid)
    talk.show_branch(app.keeper.store.branches(sid)[0].leaf, None).result(5)
    assert talk.chat is None and talk.view().messages[0] == ("user", "one")
    with pytest.raises(Refused, match="no such message"):
        talk.show_branch(10**6, None).result(5)
    talk.send("more", OPTIONS).result(5)
    assert [text for role, text in talk.view().messages if role == "user"] == ["one", "more"]


# --- where -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings_of", "on_disk"),
    [
        ({}, True), ({"data": "off"}, False), ({"host": "0.0.0.0"}, False), ({"share": True}, False),
        ({"host": "0.0.0.0", "data": "named"}, True), ({"data": "named"}, True),
    ],
)  # fmt: skip
def test_where_others_reach_the_app_nothing_is_written_unless_a_folder_is_named(
    settings_of: dict[str, Any], on_disk: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("DRAFTSCOPE_DATA", str(home))
    monkeypatch.delenv("SPACE_ID", raising=False)
    if settings_of.get("data") == "named":
        settings_of = {**settings_of, "data": str(tmp_path / "named")}
    with closing(open_keeper(Settings(**settings_of))) as keeper:
        assert keeper.on_disk is on_disk
    files = {file.parent.name for file in tmp_path.rglob("*.sqlite")}
    assert files == ({"named" if "named" in settings_of.get("data", "") else "home"} if on_disk else set())


def test_a_space_keeps_nothing_on_its_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPACE_ID", "someone/space")
    monkeypatch.setenv("DRAFTSCOPE_DATA", str(tmp_path / "home"))
    with closing(open_keeper(Settings())) as keeper:
        assert not keeper.on_disk
    assert not (tmp_path / "home").exists()


def test_a_folder_that_cannot_be_used_does_not_keep_the_app_from_starting(start: Start, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    keeper = open_keeper(Settings(data=str(blocked / "below")))
    app = start(keeper=keeper)
    sid = said(app, "hello")
    assert sid in keeper.store and not keeper.on_disk
    note = Desk(app).look({"sid": sid})["note"]
    assert note.startswith("The folder for conversations cannot be made") and str(tmp_path) not in note


def test_in_memory_a_conversation_is_forgotten_in_time_but_not_while_it_lives(start: Start) -> None:
    app = start(keeper=passing_keeper())
    sid, other = said(app, "one"), said(app, "two")
    keeper = app.keeper
    keeper.store._clock = lambda: 1e10
    keeper.sweep([sid])
    assert sid in keeper.store and other not in keeper.store


# --- the list --------------------------------------------------------------------------------------------------------


def test_one_owner_sees_all_and_a_visitor_only_what_the_browser_names(start: Start) -> None:
    app = start()
    mine, theirs = said(app, "mine"), said(app, "theirs")
    seen = Desk(app).look({"sid": mine})
    assert [line["id"] for line in seen["lines"]] == [theirs, mine] and seen["note"] == ON_DISK and not seen["own"]
    app = start(host="0.0.0.0")
    desk = Desk(app)
    for named in ([], None, "x", [7, None], ["zzz"]):
        seen = desk.look({"sid": mine, "own": named})
        assert [line["id"] for line in seen["lines"]] == [mine] and seen["note"] == ON_SERVER and seen["own"]
        assert theirs not in json.dumps(seen)
    assert [line["id"] for line in desk.look({"sid": mine, "own": [theirs]})["lines"]] == [theirs, mine]
    assert desk.look({"sid": mine, "search": "theirs"})["lines"] == []
    app = start(host="0.0.0.0", keeper=passing_keeper())
    assert Desk(app).look({"sid": said(app, "x")})["note"] == IN_MEMORY


def test_a_line_names_turns_and_model_and_a_search_looks_into_messages(start: Start) -> None:
    app = start()
    first = said(app, "apples", "and pears")
    path = [node.said for node in app.keeper.store.load(first).path]
    path[1] = replace(path[1], tokens=(11,), checkpoint="/home/someone/models/words-1b")
    app.keeper.store.save_path(first, path)
    second = said(app, "plums")
    desk = Desk(app)
    line = desk.look({"sid": first, "search": "PEARS"})["lines"]
    assert [(x["id"], x["title"], x["turns"], x["model"], x["here"]) for x in line] == [
        (first, "apples", 2, "words-1b", True)
    ]
    assert desk.answer({"sid": first, "do": "look", "search": "x" * 201}) == {
        "error": "A search is text of at most 200 characters."
    }
    assert [x["id"] for x in desk.look({"sid": second, "search": ""})["lines"]] == [second, first]


def test_rename_and_delete(start: Start) -> None:
    app = start()
    sid, other = said(app, "one"), said(app, "two")
    desk = Desk(app)
    answer = desk.answer({"sid": sid, "do": "rename", "id": other, "name": " a\nname "})
    assert answer["said"] == "Renamed: “a name”." and answer["lines"][0]["title"] == "a name"
    assert "characters" in desk.answer({"sid": sid, "do": "rename", "name": "x" * 200})["error"]
    assert "must be text" in desk.answer({"sid": sid, "do": "rename", "name": 7})["error"]
    answer = desk.answer({"sid": sid, "do": "delete", "id": other})
    assert answer["said"] == "Deleted for good, with all its branches: “a name”."
    assert [line["id"] for line in answer["lines"]] == [sid]
    with pytest.raises(Refused):
        app.registry.get(other)
    assert desk.answer({"sid": sid, "do": "delete"})["gone"] is True
    for do in ("rename", "delete", "export"):
        assert "No conversation of this id" in desk.answer({"sid": sid, "do": do, "id": other, "name": ""})["error"]
    assert desk.answer({"sid": sid, "do": "nothing"}) == {"error": "That is not known here."}


def test_a_running_conversation_that_is_deleted_ends_and_is_not_kept_again(start: Start) -> None:
    app = start()
    app.engine.pace, app.engine.answer = 0.02, 500  # type: ignore[union-attr]
    sid = said(app, "one", options=TurnOptions(max_new=2))
    talk = app.registry.get(sid)
    turn = talk.send("two", TurnOptions(max_new=400))
    while talk.view().phase != "decoding":
        pass
    Desk(app).delete({"sid": sid})
    assert turn.result(5).reason == "cancelled"
    assert sid not in app.keeper.store


# --- tree and files --------------------------------------------------------------------------------------------------


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
        (None, "did not arrive whole"),
        ("%%%", "did not arrive whole"),
        (base64.b64encode(b"no gzip").decode(), "did not arrive whole"),
        (packed(b"x" * 1000)[:-24], "did not arrive whole"),
        (packed(b"hello"), "is not a heading with the name"),
        (packed(b"{}"), "is not a conversation of Draftscope"),
        (packed(b"{"), "is not JSON"),
        (packed(b"\xff\xfe"), "not UTF-8"),
        (packed(b" " * (LARGEST + 1)), "larger than the 8 MiB"),
        (packed(file_of(Talk(), "json")["text"].encode()), "holds no message"),
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
