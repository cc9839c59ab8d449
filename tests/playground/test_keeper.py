"""Between a chat and the store: what was said comes back as it was, with its settings, and trouble is told."""

from __future__ import annotations

from collections import deque
from contextlib import closing
from dataclasses import replace

import pytest

from engine.chat import ChatSession
from playground.keeper import Keeper, Kept
from playground.limits import TurnOptions
from playground.store import Node, Said, Store, StoreError, StoreFull, Talk, open_store

SID = "0" * 32
FIRST = TurnOptions()


@pytest.fixture
def engine(tiny_engine):
    return tiny_engine("llama", max_ctx=512)


@pytest.fixture
def keeper(tmp_path):
    keeper = Keeper(open_store(tmp_path))
    yield keeper
    keeper.store.close()


def test_a_kept_conversation_goes_on_as_if_nothing_had_happened(engine, keeper):
    chat = ChatSession(engine, system="Be brief")
    chat.send("The quick brown fox", 20)
    keeper.save(SID, chat, TurnOptions(max_new=20, stop=("x", "\n"), draft_len=3))
    kept = keeper.load(SID)
    assert kept is not None and kept.messages[0] == ("user", "The quick brown fox")
    options = kept.options(FIRST)
    assert (options.max_new, options.stop, options.draft_len) == (20, ("x", "\n"), 3)
    again = ChatSession(engine)
    again.restore(kept.transcript(engine))
    assert again.messages == chat.messages
    assert again.send("And then?", 20).tokens == chat.send("And then?", 20).tokens


def test_an_edit_keeps_the_old_branch(engine, keeper):
    chat = ChatSession(engine)
    chat.send("The quick brown fox", 8)
    keeper.save(SID, chat, None)
    chat.edit(0, "Another beginning", 8)
    keeper.save(SID, chat, None)
    assert len(keeper.store.branches(SID)) == 2
    kept = keeper.load(SID)
    assert kept is not None and kept.messages[0] == ("user", "Another beginning")


def test_another_checkpoints_ids_are_not_used(engine, keeper):
    chat = ChatSession(engine)
    chat.send("The quick brown fox", 8)
    keeper.save(SID, chat, None)
    kept = keeper.load(SID)
    assert kept is not None
    theirs = replace(
        kept.talk, nodes=tuple(replace(n, said=replace(n.said, checkpoint="else")) for n in kept.talk.nodes)
    )
    (exchange,) = Kept(theirs).transcript(engine).exchanges
    assert exchange.answer is not None and exchange.answer.ids == ()
    assert exchange.answer.text == chat.messages[-1]["content"]


def test_settings_that_are_no_longer_known_are_left_alone(engine, keeper):
    keeper.store.create(SID, settings={"max_new": 7, "gone": 1})
    kept = keeper.load(SID)
    assert kept is not None and kept.options(FIRST) == TurnOptions(max_new=7)
    assert keeper.load("1" * 32) is None


def test_in_a_shared_memory_the_longest_unchanged_makes_room_and_on_the_disk_nothing_does(tmp_path, monkeypatch):
    for most in ("LARGEST_IN_MEMORY", "LARGEST_BYTES"):
        monkeypatch.setattr(f"playground.store.database.{most}", 400_000)
    talk = Talk(nodes=(Node(1, None, Said("user", "x" * 60_000)), Node(2, 1, Said("assistant", "y"))), current=2)
    with closing(Store(None)) as memory, closing(open_store(tmp_path)) as disk:
        shared, own = Keeper(memory, on_disk=False), Keeper(disk)
        for i in range(20):
            shared.add(f"{i:032x}", talk)
        kept = [f"{i:032x}" in memory for i in range(20)]
        assert kept == sorted(kept) and 2 <= sum(kept) < 20, "the latest are kept"
        with pytest.raises(StoreFull, match="no room for more conversations"):
            deque((own.add(f"{i:032x}", talk) for i in range(20)), maxlen=0)
        assert f"{0:032x}" in disk


def test_what_cannot_be_kept_is_told_and_stops_nobody(engine, keeper, monkeypatch):
    def refuse(*args: object, **options: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(keeper.store, "save_path", refuse)
    chat = ChatSession(engine)
    chat.send("The quick brown fox", 8)
    assert keeper.save(SID, chat, None) == "The disk is full."
    monkeypatch.undo()
    assert keeper.save(SID, chat, None) == ""


def test_what_was_deleted_makes_room_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("playground.store.database.LARGEST_BYTES", 400_000)
    talk = Talk(nodes=(Node(1, None, Said("user", "x" * 60_000)), Node(2, 1, Said("assistant", "y"))), current=2)
    with closing(open_store(tmp_path)) as disk:
        keeper = Keeper(disk)
        with pytest.raises(StoreFull):
            deque((keeper.add(f"{i:032x}", talk) for i in range(20)), maxlen=0)
        assert keeper.full.startswith("There is no room")
        kept = [line.sid for line in disk.list_conversations(all=True)]
        for sid in kept[:2]:
            disk.put_away(sid)
        keeper.add("f" * 32, talk)
        assert keeper.full == "" and "f" * 32 in disk
        with pytest.raises(StoreError, match="gone for good already"):
            disk.bring_back(kept[0])
