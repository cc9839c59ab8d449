"""Traces in the store: in parts, bounded from the old end, and with how the session stood when messages were saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.store import Said, Store, StoreError
from playground.store import traces as traces_file
from tests.playground.test_store import OTHER, SID, path

GZIP = b"\x1f\x8b"


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "c.sqlite" if request.param == "file" else None, clock=iter(range(1000)).__next__)
    for sid in (SID, OTHER):
        store.create(sid)
        store.save_path(sid, path("q", "a"))
    yield store
    store.close()


def part(name: str, size: int = 0) -> bytes:
    return GZIP + name.encode() + bytes(size)


def test_parts_come_back_in_order_and_one_takes_the_place_of_what_it_overlaps(store: Store) -> None:
    for first, past in ((0, 10), (10, 25), (25, 40)):
        store.save_trace(SID, part(str(first)), first, past)
    assert store.load_trace(SID) == [part("0"), part("10"), part("25")]
    store.save_trace(SID, part("again"), 20, 30)
    assert store.load_trace(SID) == [part("0"), part("again")]
    assert store.load_trace(OTHER) == []


def test_the_oldest_parts_go_where_there_is_too_much(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces_file, "TRACE_BYTES", 1000)
    for first in range(0, 50, 10):
        store.save_trace(SID, part(str(first), 300), first, first + 10)
    assert [data[2:4] for data in store.load_trace(SID)] == [b"20", b"30", b"40"]
    store.save_trace(SID, part("50"), 50, 60, oldest=40)
    assert [data[2:4] for data in store.load_trace(SID)] == [b"40", b"50"]
    with pytest.raises(StoreError, match="larger than"):
        store.save_trace(SID, part("60", 1000), 60, 70)
    assert len(store.load_trace(SID)) == 2


def test_books_are_kept_with_the_messages_and_another_session_drops_the_trace(store: Store) -> None:
    assert store.load_books(SID) is None
    store.save_trace(SID, part("0"), 0, 10)
    store.save_path(SID, path("q", "a"), books={"sctr": 7})
    assert store.load_books(SID) == {"sctr": 7} and len(store.load_trace(SID)) == 1
    updated = store.load(SID).updated
    store.save_path(SID, path("q", "a"), books={"sctr": 9})
    assert store.load_books(SID) == {"sctr": 9} and store.load(SID).updated == updated, "nothing was said"
    store.save_path(SID, path("q", "a", "more", "b"))
    assert store.load_books(SID) == {"sctr": 9}
    with pytest.raises(StoreError, match="out of turn"):
        store.save_path(SID, [Said("assistant", "a")], books={"sctr": 10}, anew=True)
    assert store.load_books(SID) == {"sctr": 9} and len(store.load_trace(SID)) == 1
    store.save_path(SID, path("q", "a"), books={"sctr": 0}, anew=True)
    assert store.load_trace(SID) == []


def test_a_trace_goes_before_a_conversation_does_and_the_longest_unchanged_first(store: Store) -> None:
    third = "c" * 32
    store.create(third)
    for sid in (OTHER, third):
        store.save_trace(sid, part("0"), 0, 10)
    store.rename(OTHER, "changed now")
    assert store.drop_trace(but=SID) and store.load_trace(third) == [] and store.load_trace(OTHER)
    assert not store.drop_trace(but=OTHER)
    assert store.drop_trace(but=SID) and not store.drop_trace(but=SID)
    assert OTHER in store and third in store
