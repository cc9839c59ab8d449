"""The engine thread: order, survival, the waiting line."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from playground.worker import Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(idle_s=0.01)
    yield worker
    worker.close()


def test_jobs_run_in_order_on_one_thread(worker: Worker) -> None:
    ran: list[tuple[int, int]] = []
    done = threading.Event()
    for number in range(20):
        worker.submit("a", lambda number=number: ran.append((number, threading.get_ident())))
    worker.submit("a", done.set)
    assert done.wait(5)
    assert [number for number, _ in ran] == list(range(20))
    assert len({thread for _, thread in ran}) == 1


def test_a_job_that_raises_does_not_end_the_thread(worker: Worker) -> None:
    def fail() -> None:
        raise ValueError("on purpose")

    done = threading.Event()
    worker.submit("a", fail)
    worker.submit("b", done.set)
    assert done.wait(5)


def test_the_waiting_line(worker: Worker) -> None:
    started, go = threading.Event(), threading.Event()

    def first() -> None:
        started.set()
        go.wait(5)

    worker.submit("a", first)
    assert started.wait(5)
    for owner in ("b", "c", "b"):
        worker.submit(owner, lambda: None)
    assert [worker.ahead(owner) for owner in "abcd"] == [0, 1, 2, 0]
    assert worker.withdraw("b") is not None
    assert worker.ahead("c") == 1
    assert worker.withdraw("a") is None, "the running job is not in the line"
    go.set()


def test_idle_is_called_while_there_is_nothing_to_do() -> None:
    called = threading.Event()
    worker = Worker(idle=called.set, idle_s=0.01)
    assert called.wait(5)
    worker.close()
    with pytest.raises(RuntimeError):
        worker.submit("a", lambda: None)
