"""Conversations where two things happen at once, or one that seldom does: none is lost, and each says what is so."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import gradio as gr
import pytest

from playground.conversations.desk import Desk
from playground.conversations.tree import DEEPEST, tree_of
from playground.handlers import Handlers
from playground.limits import TurnOptions
from playground.permits import BUTTONS, STAYS
from playground.race.wire import answer_of
from playground.sentences import NO_MORE
from playground.service import Service
from playground.store import Node, Said, StoreError, Talk
from tests.playground.conftest import fake_service

SHORT = TurnOptions(max_new=5)


@pytest.fixture
def app() -> Iterator[Service]:
    with fake_service(answer=200) as app:
        yield app


def test_what_is_deleted_while_it_is_being_kept_does_not_come_back(
    app: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = app.registry.new()
    talk.send("one", SHORT).result(5)
    saving, deleted = threading.Event(), threading.Event()
    save = app.keeper.save

    def slow(*given: Any) -> str:
        saving.set()
        deleted.wait(0.5)  # whoever deletes has to wait for this save, or it would make the conversation anew
        return save(*given)

    monkeypatch.setattr(app.keeper, "save", slow)
    turn = talk.send("two", SHORT)
    assert saving.wait(5)
    Desk(app).delete({"sid": talk.sid})
    deleted.set()
    turn.result(5)
    assert talk.sid not in app.keeper.store


def test_a_page_whose_conversation_was_deleted_elsewhere_keeps_its_text_and_says_so(app: Service) -> None:
    talk, page = app.registry.new(), cast(Any, SimpleNamespace(session_hash="page"))
    app.registry.drop(talk.sid)

    async def told() -> list[Any]:
        return [shown async for shown in Handlers(app).follow(talk.sid, page)]

    with ThreadPoolExecutor(1) as pool:  # this thread may have a loop already
        (shown,) = pool.submit(asyncio.run, told()).result(
            10
        )  # none at all would empty every output, the labels of the buttons too
    assert shown.status == NO_MORE and shown.chat == shown.panels == gr.skip()
    can = dict(zip(BUTTONS, shown.buttons, strict=True))
    assert can.pop("send") == STAYS and set(can.values()) == {"0"}
    assert set(map(str, Handlers(app).lists(talk.sid, page))) == {str(gr.skip())}


def test_a_late_call_for_the_conversation_that_was_left_gives_way_to_the_one_that_is_shown(app: Service) -> None:
    app.engine.pace = 0.02  # type: ignore[union-attr]
    handlers, page = Handlers(app), cast(Any, SimpleNamespace(session_hash="page"))
    left, shown = app.registry.new(), app.registry.new()
    left.send("one", TurnOptions(max_new=150))
    seen: list[str] = []

    async def follow(sid: str) -> None:
        async for _ in handlers.follow(sid, page):
            seen.append(sid)

    async def both() -> None:
        late = asyncio.create_task(follow(left.sid))
        while left.view().phase != "decoding" or not seen:
            await asyncio.sleep(0.01)
        await follow(shown.sid)
        count = len(seen)
        await asyncio.wait_for(late, 5)
        assert left.view().running and seen[-1] == shown.sid and len(seen) == count

    with_loop = threading.Thread(target=asyncio.run, args=(both(),))
    failed: list[Any] = []
    threading_hook, threading.excepthook = threading.excepthook, failed.append
    try:
        with_loop.start()
        with_loop.join(20)
    finally:
        threading.excepthook = threading_hook
    assert not failed
    left.stop()


def test_a_branch_that_is_chosen_while_another_model_takes_over_is_the_one_that_is_shown(
    app: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former engine's chats end in the line: between finding the branch and showing it, if that were outside."""
    talk = app.registry.new()
    talk.send("one", SHORT).result(5)
    talk.edit(0, "another", SHORT).result(5)
    leaf = app.keeper.store.branches(talk.sid)[0].leaf
    found, go_on = threading.Event(), threading.Event()
    switch = app.keeper.switch

    def slow(*given: Any) -> Any:
        kept = switch(*given)
        found.set()
        go_on.wait(5)
        return kept

    monkeypatch.setattr(app.keeper, "switch", slow)
    asked = threading.Thread(target=lambda: talk.show_branch(leaf, app.engine).result(5))
    asked.start()
    assert found.wait(5)
    over = threading.Event()
    app.worker.submit("engine", lambda: (app.registry.drop_chats(), over.set()), alone=True)  # type: ignore[func-returns-value, arg-type, return-value]
    over.wait(0.3)
    go_on.set()
    asked.join(5)
    assert over.wait(5) and talk.chat is None
    assert talk.view().messages[0] == ("user", "one")


def test_a_branch_waits_for_the_engine_no_longer_than_an_answer_may(
    app: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = app.registry.new()
    talk.send("one", SHORT).result(5)
    leaf = app.keeper.store.branches(talk.sid)[0].leaf
    monkeypatch.setattr("playground.conversations.desk.SWITCH_S", 0.05)
    others = threading.Event()
    app.worker.submit("another", lambda: others.wait(5) and None)
    answer = Desk(app).answer({"sid": talk.sid, "do": "switch", "node": leaf})
    assert "as soon as the engine is free" in answer["said"] and talk.view().running
    others.set()
    deadline = time.monotonic() + 5
    while talk.view().running and time.monotonic() < deadline:
        time.sleep(0.01)
    assert talk.view().notice.startswith("This branch: ")


def test_what_could_not_be_kept_can_be_cleared_after_another_model_was_loaded(
    app: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise StoreError("The disk is full.")

    for writes in ("begin", "create"):
        monkeypatch.setattr(app.keeper.store, writes, full)
    talk = app.registry.new()
    talk.send("one", SHORT).result(5)
    assert talk.view().unkept == "The disk is full."
    app.start()
    assert app.wait(10)
    deadline = time.monotonic() + 5
    while talk.chat is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    talk.clear().result(5)
    assert talk.view().messages == ()


def test_a_tab_that_comes_while_every_kept_conversation_answers_is_told_and_keeps_its_id(
    app: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.engine.pace = 0.02  # type: ignore[union-attr]
    monkeypatch.setattr(app.registry, "_cap", 1)
    talk = app.registry.new()
    talk.send("one", TurnOptions(max_new=150))
    for sid in ("", "0" * 32):
        told = Handlers(app).open(sid)
        assert told[:2] == (sid, sid) and told[2].startswith("This server is answering in as many conversations")
    talk.stop()


def test_a_form_of_a_file_that_is_none_is_refused(app: Service) -> None:
    talk = app.registry.new()
    talk.send("one", SHORT).result(5)
    for form in (None, "exe", ["json"], {}):
        assert "as json or markdown" in Desk(app).answer({"sid": talk.sid, "do": "export", "form": form})["error"]


def test_branches_of_branches_without_end_can_be_sent() -> None:
    nodes, asked = [Node(1, None, Said("user", "0"))], 1
    for turn in range(1, 1200):  # each time two answers, and on with the second
        first = 3 * turn - 1
        nodes += [
            Node(first, asked, Said("assistant", "a")),
            Node(first + 1, asked, Said("assistant", "b")),
            Node(first + 2, first + 1, Said("user", str(turn))),
        ]
        asked = first + 2
    tree = tree_of(Talk(nodes=tuple(nodes), current=asked))
    assert answer_of(tree)

    def walk(lines: list[dict[str, Any]], depth: int = 1) -> Iterator[tuple[int, int]]:
        for line in lines:
            yield line["node"], depth
            yield from walk(line["below"], depth + 1)

    found = list(walk(tree))
    assert len({node for node, _ in found}) == len(found) == 1200 and max(depth for _, depth in found) == DEEPEST
