"""A search finds what was added, changed or kept by an earlier version, and is quick among thousands."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from playground.store import Node, Said, Store, Talk
from playground.store.schema import APPLICATION, STEPS
from tests.playground.talks import OTHER, SID, path

MOST_S = 0.2
"""Of one search among 2,000 conversations, in seconds."""


@pytest.fixture
def store() -> Iterator[Store]:
    with closing(Store(None)) as store:
        yield store


def found(store: Store, search: str) -> list[str]:
    return [line.sid for line in store.list_conversations(all=True, search=search)]


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
        assert found(store, "goes on") == [] and found(store, "old question") == [OTHER]


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


def test_a_search_among_thousands_is_quick(store: Store) -> None:
    crowded(store)
    times = {word: _seconds(store, word) for word in ("", "word1", "nowhere to be found", "talk 1999", "Öl")}
    assert max(times.values()) < MOST_S, times
    assert found(store, "talk 1999") == [f"{1999:032x}"] and found(store, "nowhere to be found") == []


def _seconds(store: Store, search: str) -> float:
    best = 1e9
    for _ in range(5):
        start = time.perf_counter()
        store.list_conversations(all=True, search=search, limit=101)
        best = min(best, time.perf_counter() - start)
    return best
