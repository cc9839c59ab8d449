"""Conversations that were deleted: out of sight at once, brought back for a while, and then nowhere on the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from playground.store import Store, StoreError
from tests.playground.still_clock import Clock
from tests.playground.talks import OTHER, SID, path, texts


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with closing(Store(tmp_path / "c.sqlite", clock)) as store:
        for sid in (SID, OTHER):
            store.create(sid, name=f"name of {sid[:1]}")
            store.save_path(sid, path("q", f"unforgettable {sid}"))
            store.save_trace(sid, b"\x1f\x8b" + sid.encode(), 0, 5)
        yield store


GONE: list[Callable[[Store], object]] = [
    lambda s: s.load(SID),
    lambda s: s.rename(SID, "x"),
    lambda s: s.switch(SID, None),
    lambda s: s.save_path(SID, path("q")),
    lambda s: s.save_trace(SID, b"\x1f\x8b", 0, 5),
    lambda s: s.load_trace(SID),
    lambda s: s.summary_of(SID),
    lambda s: s.put_away(SID),
]


def test_what_was_put_away_is_in_no_list_no_search_and_cannot_be_used(store: Store) -> None:
    store.put_away(SID)
    assert SID not in store and store.name_of(SID) == ""
    for search in ("", "unforgettable", "name of a"):
        found = store.list_conversations(all=True, search=search) + store.list_conversations([SID], search=search)
        assert SID not in {line.sid for line in found}
    for call in GONE:
        with pytest.raises(StoreError, match="No conversation of this id"):
            call(store)
    with pytest.raises(StoreError, match="kept already"):
        store.create(SID)


def test_it_is_brought_back_as_it_was_until_it_is_gone_for_good(store: Store, clock: Clock, tmp_path: Path) -> None:
    before = store.load(SID)
    store.put_away(SID)
    clock.now += 50
    assert not store.purge(60)
    store.bring_back(SID)
    assert store.load(SID) == before and store.load_trace(SID) == [b"\x1f\x8b" + SID.encode()]
    store.put_away(SID)
    clock.now += 60
    assert store.purge(60) and not store.purge(60)
    with pytest.raises(StoreError, match="gone for good already"):
        store.bring_back(SID)
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert SID.encode() not in kept and OTHER.encode() in kept


def test_it_can_be_forgotten_at_once(store: Store) -> None:
    store.put_away(SID)
    store.delete(SID)
    with pytest.raises(StoreError, match="gone for good already"):
        store.bring_back(SID)
    store.create(SID)


def test_it_makes_room_before_any_other(store: Store) -> None:
    store.rename(SID, "changed last")
    store.put_away(SID)
    assert store.make_room(but="0" * 32)
    assert texts(store.load(OTHER).path)[0] == "q"
    with pytest.raises(StoreError):
        store.bring_back(SID)


def test_it_does_not_count_among_those_that_may_be_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playground.store.paths.CONVERSATIONS", 2)
    with pytest.raises(StoreError, match="2 conversations already"):
        store.create("0" * 32)
    store.put_away(SID)
    store.create("0" * 32)
