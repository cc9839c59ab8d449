"""The tree of messages, by properties: what was shown is shown, nothing that was said is lost, branches add up."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.store import Node, Said, Store, Talk, placing
from playground.store.checks import clean, size_of
from tests.playground.talks import SID, paths, said_of, talks

steps = st.lists(st.tuples(paths(), st.none() | st.integers(0, 30)), min_size=1, max_size=6)
"""Paths to save, each perhaps after a switch to the message of that number."""


@contextmanager
def fresh() -> Iterator[tuple[Store, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "c.sqlite"
        with closing(Store(file)) as store:
            store.create(SID)
            yield store, file


def switch(store: Store, number: int | None) -> None:
    nodes = store.load(SID).nodes
    if number is not None and nodes:
        store.switch(SID, nodes[number % len(nodes)].id)


def is_shown(told: list[Said], shown: tuple[Node, ...]) -> bool:
    """Whether a path shows what was told: text for text, and the ids where they were told."""
    return len(told) == len(shown) and all(
        (a.role, a.content) == (b.said.role, b.said.content) and a.tokens in (None, b.said.tokens)
        for a, b in zip(told, shown, strict=True)
    )


def holds(talk: Talk, told: list[Said]) -> bool:
    """Whether some path of the tree says what was told; an answer may have gone on since."""
    ends: set[int | None] = {None}
    for said in told:
        ends = {n.id for n in talk.nodes if n.parent in ends and n.said.role == said.role and _goes_on(said, n.said)}
    return bool(ends)


def _goes_on(said: Said, node: Said) -> bool:
    return node.content == said.content or (said.role == "assistant" and node.content.startswith(said.content))


@settings(max_examples=40, deadline=None)
@given(steps)
def test_what_was_saved_is_shown_and_saving_it_again_changes_nothing(
    steps: list[tuple[list[Said], int | None]],
) -> None:
    with fresh() as (store, _):
        for told, number in steps:
            switch(store, number)
            end = store.save_path(SID, told)
            before = store.load(SID)
            assert before.current == end and is_shown(told, before.path)
            assert store.save_path(SID, told) == end
            assert store.save_path(SID, said_of(before.path)) == end
            assert store.load(SID) == before


@settings(max_examples=40, deadline=None)
@given(steps)
def test_nothing_that_was_said_is_lost(steps: list[tuple[list[Said], int | None]]) -> None:
    assert not losses(steps)


def losses(steps: list[tuple[list[Said], int | None]]) -> list[list[Said]]:
    with fresh() as (store, _):
        for told, number in steps:
            switch(store, number)
            store.save_path(SID, told)
        talk = store.load(SID)
        return [told for told, _ in steps if not holds(talk, told)]


def test_an_answer_that_grows_into_any_other_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth of the test above: here the last answer is overwritten by whatever comes."""
    steps: list[tuple[list[Said], int | None]] = [
        ([Said("user", "q"), Said("assistant", "old")], None),
        ([Said("user", "q"), Said("assistant", "new")], None),
    ]
    assert losses(steps) == []
    monkeypatch.setattr("playground.store.paths.grown", lambda said, among, current: among[-1] if among else None)
    assert losses(steps) == [steps[0][0]]


@settings(max_examples=40, deadline=None)
@given(steps)
def test_branches_share_out_the_messages(steps: list[tuple[list[Said], int | None]]) -> None:
    with fresh() as (store, file):
        for told, number in steps:
            switch(store, number)
            store.save_path(SID, told)
        talk, branches = store.load(SID), store.branches(SID)
        assert sorted(id_ for branch in branches for id_ in branch.nodes) == [node.id for node in talk.nodes]
        assert [branch.number for branch in branches] == list(range(len(branches)))
        assert sum(branch.current for branch in branches) == (talk.current is not None)
        for branch in branches:
            assert (branch.of is None) == (branch.fork is None)
            assert branch.fork is None or branch.fork in branches[branch.of or 0].nodes
            assert branch.label
            assert len(store.switch(SID, branch.leaf)) == branch.messages
            assert next(b for b in store.branches(SID) if b.current).number == branch.number
        with closing(sqlite3.connect(file)) as raw:
            counted = raw.execute("SELECT messages, bytes FROM conversations").fetchone()
        assert counted == (len(talk.nodes), sum(size_of(node.said) for node in talk.nodes))


@settings(max_examples=40, deadline=None)
@given(talks())
def test_a_whole_conversation_comes_back_as_it_was_added(talk: Talk) -> None:
    with fresh() as (store, _):
        store.delete(SID)
        store.add(SID, talk)
        back = store.load(SID)
        assert [node.said.content for node in back.path] == [clean(node.said.content) for node in talk.path]
        assert [said.tokens for said in said_of(back.nodes)] == [said.tokens for said in said_of(talk.nodes)]
        places = {node.id: place for place, node in enumerate(back.nodes)}
        expected = {node.id: place for place, node in enumerate(talk.nodes)}
        assert [node.parent is None or places[node.parent] for node in back.nodes] == [
            node.parent is None or expected[node.parent] for node in talk.nodes
        ]
        assert len(back.settings) == len(talk.settings) and back.updated == talk.updated


def test_of_equal_messages_the_one_with_the_same_ids_is_meant() -> None:
    old = [
        Node(1, None, Said("user", "q", (1,))),
        Node(2, None, Said("user", "q", (2,))),
        Node(3, None, Said("user", "q")),
    ]
    assert placing.find(Said("user", "q", (2,)), old, {1}) is old[1]
    assert placing.find(Said("user", "q"), old, {2}) is old[1]
    assert placing.find(Said("user", "q", (4,)), old, {1}) is old[2]
    assert placing.find(Said("user", "q", (4,)), old[:2], {1}) is None
