"""A search reads only the conversations that can hold the text, finds what is there all the same, and is quick."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.store import Node, Said, Store, Talk, listing
from playground.store.grams import ALL, LONGEST, bits_of, may_hold
from playground.store.schema import APPLICATION, STEPS
from tests.playground.talks import OTHER, SID, any_text, path

MOST_S = 0.05
"""Of one search among 2,000 conversations, in seconds."""


@pytest.fixture
def store() -> Iterator[Store]:
    with closing(Store(None)) as store:
        yield store


def found(store: Store, search: str) -> list[str]:
    return [line.sid for line in store.list_conversations(all=True, search=search)]


@settings(max_examples=200, deadline=None)
@given(any_text, st.data())
def test_no_conversation_that_holds_a_text_is_passed_over(text: str, data: st.DataObject) -> None:
    text = text.encode("utf-8", "replace").decode()
    folded = text.casefold()
    start = data.draw(st.integers(0, len(folded)))
    assert may_hold(bits_of(text), folded[start : data.draw(st.integers(start, len(folded)))])


def test_most_that_do_not_hold_it_are_passed_over() -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(400)]
    bits = bits_of(" ".join(rng.choices(words, k=300)))
    others = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(300)]
    assert sum(may_hold(bits, other) for other in others) < 30
    assert may_hold(None, "x") and may_hold(bits, "") and may_hold(bits_of("x" * (LONGEST + 1)), "anything")
    assert bits_of("x" * (LONGEST + 1)) == ALL


def test_what_was_added_changed_or_kept_by_an_earlier_version_is_found(tmp_path: Path) -> None:
    file = tmp_path / "c.sqlite"
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in STEPS[0]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
        for sid in (SID, OTHER):
            connection.execute(
                "INSERT INTO conversations (sid, name, created, updated, system, settings, current, messages) "
                "VALUES (?, '', 1, 1, '', '{}', NULL, 1)",
                (sid,),
            )
            connection.execute(
                "INSERT INTO nodes (sid, role, content, rest, origins, checkpoint, drafting, created) "
                "VALUES (?, 'user', 'an old question', '', '', '', '{}', 1)",
                (sid,),
            )
    with closing(Store(file)) as store:
        assert sorted(found(store, "OLD question")) == [SID, OTHER]
        store.save_path(SID, path("an old question", "a new answer"))
        assert found(store, "w answer") == [SID] and sorted(found(store, "old question")) == [SID, OTHER]
        store.save_path(SID, path("an old question", "a new answer goes on"))
        assert found(store, "goes on") == [SID]
        store.delete(SID)
        with store._db.read() as connection:
            assert connection.execute("SELECT count(*) FROM grams").fetchone() == (0,)


def crowded(store: Store, count: int = 2000, messages: int = 6, chars: int = 300) -> None:
    rng = random.Random(2)
    words = [f"word{rng.randrange(10**5)}" for _ in range(3000)]
    for number in range(count):
        texts = [" ".join(rng.choices(words, k=chars // 9)) for _ in range(messages)]
        nodes = [
            Node(at, at - 1 if at else None, Said("assistant" if at % 2 else "user", text))
            for at, text in enumerate(texts)
        ]
        store.add(f"{number:032x}", Talk(f"talk {number}", updated=float(number), nodes=tuple(nodes), current=1))


def test_a_search_among_thousands_is_quick_where_reading_all_is_not(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowded(store)
    times = {word: _seconds(store, word) for word in ("", "word1", "nowhere to be found", "talk 1999", "Öl")}
    assert max(times.values()) < MOST_S, times
    assert found(store, "talk 1999") == [f"{1999:032x}"]
    scans: list[str] = []

    def holds(text: str, folded: str) -> bool:
        scans.append(text)
        return folded in text.casefold()

    monkeypatch.setattr(listing, "_holds", holds)
    listing.prepare(store._db._live())
    assert found(store, "nowhere to be found") == [] and len(scans) < 2000 + 12_000 // 10
    monkeypatch.setattr(listing, "may_hold", lambda bits, folded: True)  # teeth: without a kilobyte each, all is read
    scans.clear()
    listing.prepare(store._db._live())
    assert found(store, "nowhere to be found") == [] and len(scans) == 2000 + 12_000


def _seconds(store: Store, search: str) -> float:
    best = 1e9
    for _ in range(5):
        start = time.perf_counter()
        store.list_conversations(all=True, search=search, limit=101)
        best = min(best, time.perf_counter() - start)
    return best
