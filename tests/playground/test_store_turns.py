"""What is kept of a turn under way: there if the program ends before the turn does, and otherwise as if never kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.store import Said, Store, StoreError, Talk, rows
from playground.store.checks import size_of
from tests.playground.talks import OTHER, SID, few_texts, path, paths, texts

NO_SETTINGS: dict[str, Any] = {"system": "", "settings": {}}


@pytest.fixture
def store() -> Iterator[Store]:
    with closing(Store(None)) as store:
        yield store


def shape(talk: Talk) -> tuple[object, ...]:
    """A conversation without the numbers of its nodes and without its times."""
    places: dict[int | None, int | None] = {None: None} | {node.id: at for at, node in enumerate(talk.nodes)}
    nodes = [(node.said, places[node.parent]) for node in talk.nodes]
    return nodes, places[talk.current], talk.system, talk.answering


def test_the_question_is_there_after_a_restart_and_what_was_said_of_its_answer_is_a_branch(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "c.sqlite")) as first:
        begun = first.begin(SID, path("hello"), system="be brief", settings={"max_new": 7})
        begun = first.so_far(SID, begun, "Once")
        first.so_far(SID, begun, "Once upon\ud800")
    with closing(Store(tmp_path / "c.sqlite")) as again:
        talk = again.load(SID)
        assert talk.answering and (talk.system, talk.settings) == ("be brief", {"max_new": 7})
        assert texts(talk.path) == ["hello"] and texts(talk.nodes) == ["hello", "Once upon\ufffd"]
        assert again.list_conversations(all=True, search="upon")[0].title == "hello"
        again.save_path(SID, path("hello", "Another beginning"))
        talk = again.load(SID)
        assert not talk.answering and texts(talk.path) == ["hello", "Another beginning"] and len(talk.nodes) == 3


def test_an_answer_that_was_to_go_on_stays_as_it_was(store: Store) -> None:
    store.create(SID)
    store.save_path(SID, path("q", "once", tokens=True))
    before = store.load(SID)
    store.so_far(SID, store.begin(SID, path("q", "once"), **NO_SETTINGS), "once upon")
    talk = store.load(SID)
    assert talk.path == before.path and texts(talk.nodes) == ["q", "once", "once upon"]


def test_a_turn_that_never_was_leaves_nothing(store: Store) -> None:
    store.save_path(SID, [], instead=store.begin(SID, path("hello"), **NO_SETTINGS))
    assert SID not in store
    store.create(OTHER)
    store.save_path(OTHER, path("one", "a"))
    before = shape(store.load(OTHER))
    store.save_path(OTHER, path("one", "a"), instead=store.begin(OTHER, path("one", "a", "two"), **NO_SETTINGS))
    assert shape(store.load(OTHER)) == before


turns = st.lists(st.tuples(paths(), few_texts, few_texts, st.booleans()), min_size=1, max_size=5)
"""A path, what is asked after it, what was said of the answer, and whether anything came of it."""


@settings(max_examples=60, deadline=None)
@given(turns)
def test_keeping_a_turn_under_way_changes_nothing_of_what_is_kept_in_the_end(steps: Any) -> None:
    with closing(Store(None)) as plain, closing(Store(None)) as early:
        for store in (plain, early):
            store.create(SID)
        for said, asked, answer, came in steps:
            if said and said[-1].role == "user":
                said = said[:-1]
            question = [*said, Said("user", asked)]
            final = [*question, Said("assistant", answer + "b", (1, 2))] if came else said
            for store in (plain, early):
                store.save_path(SID, said)
            begun = early.so_far(SID, early.begin(SID, question, **NO_SETTINGS), answer)
            plain.save_path(SID, final)
            early.save_path(SID, final, instead=begun)
            assert shape(early.load(SID)) == shape(plain.load(SID))
        with early._db.read() as connection:
            kept = connection.execute("SELECT messages, bytes FROM conversations").fetchone()
        nodes = early.load(SID).nodes
        assert kept == (len(nodes), sum(size_of(node.said) for node in nodes))


def test_teeth_what_is_not_taken_back_is_seen(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "remove", lambda *_: None)
    with pytest.raises(AssertionError):
        test_a_turn_that_never_was_leaves_nothing(store)


def test_what_is_no_beginning_of_a_turn_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="needs a message"):
        store.begin(SID, [], **NO_SETTINGS)
    with pytest.raises(StoreError, match="out of turn"):
        store.begin(SID, [Said("assistant", "a")], **NO_SETTINGS)
    assert SID not in store
