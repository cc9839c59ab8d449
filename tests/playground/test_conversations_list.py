"""Where conversations are kept, and the list of them: who sees which, how they are found, named and deleted."""

from __future__ import annotations

import json
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playground.conversations.desk import IN_MEMORY, ON_DISK, ON_SERVER, Desk
from playground.keeper import DELETED_S, open_keeper, passing_keeper
from playground.limits import Refused, TurnOptions
from playground.settings import Settings
from playground.store import StoreError, StoreFull, open_store
from tests.playground.kept import OPTIONS, Start, said

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
    assert answer["said"] == "Deleted: “a name”." and answer["deleted"]["id"] == other
    assert [line["id"] for line in answer["lines"]] == [sid]
    with pytest.raises(Refused):
        app.registry.get(other)
    assert desk.answer({"sid": sid, "do": "delete"})["gone"] is True
    for do in ("rename", "delete", "export"):
        assert "No conversation of this id" in desk.answer({"sid": sid, "do": do, "id": other, "name": ""})["error"]
    assert desk.answer({"sid": sid, "do": "nothing"}) == {"error": "That is not known here."}


def test_a_deletion_can_be_undone_until_it_is_gone_for_good(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start()
    sid, other = said(app, "one"), said(app, "two")
    desk, before = Desk(app), app.registry.get(other).view().messages
    desk.answer({"sid": sid, "do": "delete", "id": other})
    assert desk.look({"sid": sid, "search": "two"})["lines"] == []
    app.keeper.sweep([])
    answer = desk.answer({"sid": sid, "do": "restore", "id": other})
    assert (answer["restored"], answer["said"]) == (other, "Back again: “two”.")
    assert [line["id"] for line in answer["lines"]] == [other, sid]
    assert app.registry.get(other).view().messages == before
    desk.answer({"sid": sid, "do": "delete", "id": other})
    answer = desk.answer({"sid": sid, "do": "forget", "id": other})
    assert answer["said"] == "Gone for good, with all its branches." and len(answer["lines"]) == 1
    assert "gone for good already" in desk.answer({"sid": sid, "do": "restore", "id": other})["error"]
    desk.answer({"sid": sid, "do": "delete"})
    monkeypatch.setattr(app.keeper.store, "_clock", lambda: time.time() + DELETED_S + 1)
    app.keeper.sweep([])
    assert "gone for good already" in desk.answer({"sid": said(app, "three"), "do": "restore", "id": sid})["error"]


def test_what_was_deleted_is_gone_with_the_end_of_the_app(start: Start, tmp_path: Path) -> None:
    app = start()
    sid, other = said(app, "one"), said(app, "unforgettable")
    Desk(app).delete({"sid": sid, "id": other})
    start()
    assert b"unforgettable" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    with closing(open_store(tmp_path / "killed")) as store:  # its program ended without a word
        store.create(other)
        store.put_away(other)
    with (
        closing(open_keeper(Settings(data=str(tmp_path / "killed")))) as keeper,
        pytest.raises(StoreError, match="gone for good already"),
    ):
        keeper.store.bring_back(other)


def test_trouble_with_one_conversation_is_told_to_its_visitor_alone_and_a_full_disk_to_all(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = start()
    sid, other = said(app, "one"), said(app, "two")
    desk, save = Desk(app), app.keeper.store.save_path

    def refuse(at: str, *given: Any, **more: Any) -> Any:
        if at == sid:
            raise trouble
        return save(at, *given, **more)

    monkeypatch.setattr(app.keeper.store, "save_path", refuse)
    trouble = StoreError("This one is too long.")
    app.registry.get(sid).send("more", OPTIONS).result(5)
    for _ in range(2):
        assert desk.look({"sid": sid})["note"] == f"This one is too long. {ON_DISK}"
        assert desk.look({"sid": other})["note"] == ON_DISK
        app.registry.get(other).send("more", OPTIONS).result(5)  # does not take the other one's trouble away
    trouble = StoreFull("There is no room.")
    app.registry.get(sid).send("more", OPTIONS).result(5)
    assert {desk.look({"sid": each})["note"] for each in (sid, other)} == {f"There is no room. {ON_DISK}"}
    app.registry.get(other).send("more", OPTIONS).result(5)
    assert desk.look({"sid": other})["note"] == ON_DISK


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
