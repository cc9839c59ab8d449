"""One page follows one conversation: a newer call takes over, a look ends at once, and nobody follows for nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from playground import following as module
from playground.conversation import Conversation
from playground.following import MOST, following
from playground.handlers import Handlers
from playground.limits import TurnOptions
from playground.page import build_page
from playground.service import Service
from playground.viewer import Shown
from tests.playground.conftest import fake_service

LONG = TurnOptions(max_new=4000)


@pytest.fixture
def app() -> Iterator[Service]:
    with fake_service(pace=0.02, answer=4000) as app:
        yield app


def run(work: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:  # this thread may have a loop already
        return pool.submit(asyncio.run, asyncio.wait_for(work, 10)).result(20)


async def all_of(app: Service, talk: Conversation, page: str = "page", **how: bool) -> list[Shown]:
    return [shown async for shown in following(app, talk, page, **how)]


def test_a_look_at_a_running_answer_ends_at_once_and_takes_over_from_who_follows(app: Service) -> None:
    talk = app.registry.new()
    talk.send("hello", LONG)

    async def both() -> tuple[list[Shown], list[Shown]]:
        follows = asyncio.create_task(all_of(app, talk))
        await asyncio.sleep(0.5)
        assert not follows.done()
        looked = await all_of(app, talk, once=True)
        return await follows, looked

    followed, looked = run(both())
    assert talk.view().running, "the answer itself goes on"
    assert len(followed) > 1 and looked
    numbers = [shown.panels for shown in [*followed, *looked]]
    assert len(set(numbers)) == len(numbers), "the look brings what the page does not have yet, and nothing twice"


def test_nobody_follows_a_turn_that_waits_for_a_page_that_is_gone(
    app: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ALONE_S", 0.4)
    talk, over = app.registry.new(), threading.Event()
    app.worker.submit("another", lambda: [over.wait(20)].clear(), alone=True)
    talk.send("hello", LONG)

    async def asked_for_a_second() -> bool:
        follows = asyncio.create_task(all_of(app, talk))
        for _ in range(10):
            await asyncio.sleep(0.1)
            talk.touch()  # as a page does that asks for news
        stayed = not follows.done()
        await follows
        return stayed

    try:
        assert run(asked_for_a_second())
        assert talk.view().running
    finally:
        over.set()


def test_a_conversation_remembers_the_pages_that_followed_last(app: Service) -> None:
    talk = app.registry.new()
    for number in [*range(MOST), 0, *range(MOST, MOST + 3)]:
        run(all_of(app, talk, f"page{number}"))
    assert len(talk.viewers) == MOST
    assert "page0" in talk.viewers and "page1" not in talk.viewers


def test_an_idle_page_holds_no_connection(app: Service) -> None:
    """Gradio opens a stream for each page that has an `unload` event or a state: six of them, and a browser has no
    connection left for anything else."""
    page = build_page(app, Handlers(app))
    assert page.config["connect_heartbeat"] is False


def test_teeth_an_unload_event_makes_every_page_hold_one(app: Service) -> None:
    page = build_page(app, Handlers(app))
    with page:
        page.unload(lambda: None)
    assert page.get_config_file()["connect_heartbeat"] is True
