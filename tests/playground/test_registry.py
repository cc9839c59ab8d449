"""Session ids and leases: unguessable, one conversation each, kept for a while after it was last asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from playground.conversation import Conversation
from playground.limits import Refused, TurnOptions
from playground.registry import Registry
from playground.viewer import Watch
from playground.worker import Worker
from tests.playground.fakes import FakeChat, FakeEngine

Make = Callable[..., Registry]


@pytest.fixture
def gone() -> list[Conversation]:
    return []


@pytest.fixture
def make(gone: list[Conversation]) -> Iterator[Make]:
    worker = Worker()

    def conversation(sid: str) -> Conversation:
        return Conversation(sid, worker, lambda: cast(Any, FakeChat(FakeEngine(pace=0.01))))

    yield lambda **options: Registry(conversation, gone.append, **options)
    worker.close()


def watch(conversation: Conversation, page: str) -> None:
    conversation.viewers[page] = Watch(cast(Any, None), object())


def test_ids_are_128_random_bits(make: Make) -> None:
    registry = make()
    sids = {registry.new().sid for _ in range(50)}
    assert len(sids) == 50 and all(len(sid) == 32 and int(sid, 16) >= 0 for sid in sids)


def test_open_finds_or_begins(make: Make) -> None:
    registry = make()
    first = registry.open("")
    assert registry.open(first.sid) is first and registry.open("") is not first


@pytest.mark.parametrize("sid", ["nope", "0" * 31, "G" * 32, None, 7, ["x"], {"a": 1}, "../etc/passwd", "0" * 33])
def test_what_is_no_id_is_refused(make: Make, sid: object) -> None:
    with pytest.raises(Refused, match="not a session id"):
        make().get(sid)


def test_an_unknown_id_is_refused(make: Make) -> None:
    with pytest.raises(Refused, match="No session has this id"):
        make().get("0" * 32)


def test_the_lease_ends_some_time_after_it_was_last_asked_for(make: Make, gone: list[Conversation]) -> None:
    registry = make(ttl_s=0.3)
    asked, silent = registry.new(), registry.new()
    watch(silent, "page")  # has been shown there, which says nothing of whether the page is still open
    for _ in range(4):
        time.sleep(0.1)
        registry.get(asked.sid)
    assert registry.sweep() == 1 and gone == [silent], "a page that is open asks now and then"
    with pytest.raises(Refused):
        registry.get(silent.sid)
    time.sleep(0.4)
    assert registry.sweep() == 1


def test_a_running_turn_outlives_its_lease(make: Make) -> None:
    registry = make(ttl_s=0.0)
    talk = registry.new()
    future = talk.send("hello", TurnOptions(max_new=40))
    assert registry.sweep() == 0 and registry.get(talk.sid) is talk
    future.result(5)
    assert registry.sweep() == 1


def test_a_page_shows_one_conversation_at_a_time(make: Make) -> None:
    registry = make()
    former, shown = registry.new(), registry.new()
    for talk in (former, shown):
        watch(talk, "page")
        watch(talk, "other")
    registry.page_left("page", but=shown)
    assert set(former.viewers) == {"other"} and set(shown.viewers) == {"other", "page"}
    registry.page_left("page")
    assert set(shown.viewers) == {"other"}


def test_a_lease_lasts(make: Make) -> None:
    registry = make(ttl_s=60.0)
    registry.new()
    assert registry.sweep() == 0 and len(registry) == 1


def test_the_longest_untouched_makes_room(make: Make, gone: list[Conversation]) -> None:
    registry = make(cap=2)
    open_tab, closed = registry.new(), registry.new()
    registry.get(open_tab.sid)
    registry.new()
    assert gone == [closed]
    registry.get(open_tab.sid)


def test_a_server_full_of_running_turns_says_so(make: Make) -> None:
    registry = make(cap=1)
    future = registry.new().send("hello", TurnOptions(max_new=40))
    with pytest.raises(Refused, match="try again in a moment"):
        registry.new()
    future.result(5)
    registry.new()


def test_a_kept_conversation_comes_back_once_however_many_ask(gone: list[Conversation]) -> None:
    worker, sid, barrier = Worker(), "a" * 32, threading.Barrier(8)
    made: list[Conversation] = []

    def conversation(sid: str) -> Conversation:
        made.append(Conversation(sid, worker, lambda: cast(Any, FakeChat(FakeEngine()))))
        return made[-1]

    def kept(asked: str) -> Conversation | None:
        barrier.wait()
        return conversation(asked) if asked == sid else None

    registry = Registry(conversation, gone.append, kept)
    with ThreadPoolExecutor(8) as many:
        found = list(many.map(lambda _: registry.get(sid), range(8)))
    assert len(made) == 8 and len({id(talk) for talk in found}) == 1 and len(registry) == 1
    barrier = threading.Barrier(1)
    with pytest.raises(Refused):
        registry.get("b" * 32)
    worker.close()


def test_what_is_dropped_is_forgotten_and_disposed_of(make: Make, gone: list[Conversation]) -> None:
    registry = make()
    talk = registry.new()
    registry.drop(talk.sid)
    registry.drop("0" * 32)
    assert gone == [talk] and registry.live() == []
    with pytest.raises(Refused):
        registry.get(talk.sid)
