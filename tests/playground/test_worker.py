"""The engine thread: order, survival, the waiting line."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from playground.worker import Worker
from tests.playground.still_clock import Clock


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(idle_s=0.01)
    yield worker
    worker.close()


def test_jobs_run_in_order_and_never_two_at_a_time(worker: Worker) -> None:
    ran: list[int] = []
    running, done = threading.Lock(), threading.Event()

    def job(number: int) -> None:
        assert running.acquire(blocking=False)
        ran.append(number)
        running.release()

    for number in range(20):
        worker.submit("a", lambda number=number: job(number))
    worker.submit("a", done.set)
    assert done.wait(5)
    assert ran == list(range(20))


def bursts(worker: Worker, log: list[str], name: str, count: int, done: threading.Event) -> None:
    for number in range(count):
        log.append(name)
        if number + 1 < count:
            worker.give_way()
    done.set()


def test_jobs_that_give_way_take_turns(worker: Worker) -> None:
    log: list[str] = []
    held, ends = threading.Event(), [threading.Event() for _ in "abc"]
    worker.submit("hold", lambda: held.wait(5))  # so that all three are in the line before one begins
    for name, count, end in zip("abc", (4, 2, 3), ends, strict=True):
        worker.submit(name, lambda name=name, count=count, end=end: bursts(worker, log, name, count, end))
    held.set()
    assert all(end.wait(5) for end in ends)
    assert "".join(log) == "abcabcaca"


def test_a_job_alone_gives_way_to_nobody_and_nothing_waits(worker: Worker) -> None:
    log: list[str] = []
    end = threading.Event()
    worker.submit("a", lambda: bursts(worker, log, "a", 3, end))
    assert end.wait(5) and log == ["a"] * 3


def test_a_job_that_must_be_alone_waits_for_those_that_have_begun(worker: Worker) -> None:
    log: list[str] = []
    begun, go, ends = threading.Event(), threading.Event(), [threading.Event() for _ in "ab"]

    def long() -> None:
        begun.set()
        assert go.wait(5)
        bursts(worker, log, "a", 3, ends[0])

    worker.submit("a", long)
    assert begun.wait(5)
    worker.submit("load", lambda: log.append("load"), alone=True)
    worker.submit("b", lambda: bursts(worker, log, "b", 1, ends[1]))
    go.set()
    assert all(end.wait(5) for end in ends)
    assert log == ["a", "a", "a", "load", "b"]


def away(worker: Worker, log: list[str], left: threading.Event, until: threading.Event, done: threading.Event) -> None:
    log.append("a")
    left.set()
    worker.leave(until)
    log.append("A")
    done.set()


def test_a_job_that_left_the_line_holds_nobody_up(worker: Worker) -> None:
    log: list[str] = []
    left, until, done, other = (threading.Event() for _ in range(4))
    worker.submit("a", lambda: away(worker, log, left, until, done))
    assert left.wait(5)
    worker.submit("b", lambda: bursts(worker, log, "b", 3, other))
    assert other.wait(5) and log == ["a", "b", "b", "b"]
    until.set()
    assert done.wait(5) and log[-1] == "A"


def test_a_job_alone_calls_back_one_that_left_and_waits_for_it(worker: Worker) -> None:
    log: list[str] = []
    left, until, done, loaded = (threading.Event() for _ in range(4))
    worker.submit("a", lambda: away(worker, log, left, until, done))
    assert left.wait(5)
    worker.submit("load", lambda: (log.append("load"), loaded.set())[0], alone=True)
    assert loaded.wait(5) and until.is_set() and log == ["a", "A", "load"]


def test_closing_calls_back_a_job_that_left() -> None:
    worker, log = Worker(), []
    left, until, done = (threading.Event() for _ in range(3))
    worker.submit("a", lambda: away(worker, log, left, until, done))
    assert left.wait(5)
    worker.close()
    assert done.is_set() and log == ["a", "A"]


def test_closing_asks_a_long_job_to_end() -> None:
    worker, begun, over = Worker(), threading.Event(), threading.Event()

    def long() -> None:
        begun.set()
        assert over.wait(5)

    worker.submit("sweep", long, stop=over.set)
    assert begun.wait(5)
    begin = time.monotonic()
    worker.close(timeout=5)
    assert over.is_set() and time.monotonic() - begin < 3


def test_only_the_running_job_may_give_way(worker: Worker) -> None:
    with pytest.raises(AssertionError, match="only the running job"):
        worker.give_way()


def test_closing_lets_a_job_end_that_had_given_way() -> None:
    worker, log, end, ready = Worker(), [], threading.Event(), threading.Event()
    go = threading.Event()

    def other() -> None:
        ready.set()
        go.wait(5)

    def first() -> None:
        worker.submit("b", other)
        bursts(worker, log, "a", 2, end)

    worker.submit("a", first)
    assert ready.wait(5)
    worker.submit("c", lambda: log.append("c"))
    threading.Timer(0.05, go.set).start()
    worker.close()
    assert end.is_set() and log == ["a", "a"], "what had begun ends, what had not is dropped"


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
    assert [worker.wait_of(owner).ahead for owner in "abcd"] == [0, 1, 2, 0]
    assert worker.withdraw("b") is not None
    assert worker.wait_of("c").ahead == 1
    assert worker.withdraw("a") is None, "the running job is not in the line"
    go.set()


def test_idle_is_called_while_there_is_nothing_to_do() -> None:
    called = threading.Event()
    worker = Worker(idle=called.set, idle_s=0.01)
    assert called.wait(5)
    worker.close()
    with pytest.raises(RuntimeError):
        worker.submit("a", lambda: None)


def test_a_job_that_was_told_to_end_goes_before_the_others(worker: Worker) -> None:
    log: list[str] = []
    begun, held, stopped = threading.Event(), threading.Event(), threading.Event()
    ends = [threading.Event() for _ in "abc"]

    def stoppable() -> None:
        log.append("a")
        worker.give_way()
        log.append("a ends" if stopped.is_set() else "a goes on")
        worker.give_way()  # told to end: it goes out of the line no more
        log.append("a is over")
        ends[0].set()

    def holding() -> None:
        begun.set()
        assert held.wait(5)
        log.append("b gives way" if worker.due(0) else "b goes on")
        worker.give_way()
        log.append("b")
        ends[1].set()

    together = threading.Event()
    worker.submit("hold", lambda: together.wait(5))  # so that all three are in the line before one begins
    worker.submit("a", stoppable)
    worker.submit("b", holding)
    worker.submit("c", lambda: bursts(worker, log, "c", 1, ends[2]))
    together.set()
    assert begun.wait(5)
    stopped.set()
    worker.end_soon("a")
    held.set()
    assert all(end.wait(5) for end in ends)
    assert log == ["a", "b gives way", "a ends", "a is over", "c", "b"]


def test_one_that_has_not_begun_ends_at_once(worker: Worker) -> None:
    held, ran = threading.Event(), threading.Event()
    worker.submit("a", lambda: held.wait(5))
    worker.submit("b", ran.set)
    worker.end_soon("b")
    assert ran.is_set()
    held.set()
    worker.end_soon("nobody")


@pytest.mark.parametrize(
    ("waited", "places", "due"), [(0.1, 4, False), (0.3, 4, True), (0.3, 2, True), (0.3, 1, False)]
)
def test_inside_a_burst_a_job_gives_way_after_a_slice_while_there_are_places(
    waited: float, places: int, due: bool
) -> None:
    clock = Clock()
    worker = Worker(clock=clock)
    begun, go, end, said = threading.Event(), threading.Event(), threading.Event(), list[bool]()

    def long() -> None:
        assert not worker.due(places), "nobody waits yet"
        begun.set()
        assert go.wait(5)
        clock.now += waited
        said.append(worker.due(places))

    worker.submit("a", long)
    assert begun.wait(5)
    worker.submit("b", end.set)
    go.set()
    assert end.wait(5) and said == [due]
    worker.close()


def test_jobs_in_the_middle_of_a_burst_never_take_every_place(worker: Worker) -> None:
    """Two that have begun, with two places: the third could not begin if both kept theirs."""
    log: list[bool] = []
    begun, go, ends = threading.Event(), threading.Event(), [threading.Event() for _ in "ab"]

    def first() -> None:
        worker.give_way()
        begun.set()
        assert go.wait(5)
        time.sleep(0.3)
        log.append(worker.due(2))
        log.append(worker.due(3))
        ends[0].set()

    together = threading.Event()
    worker.submit("hold", lambda: together.wait(5))
    worker.submit("a", first)
    worker.submit("b", lambda: bursts(worker, [], "b", 2, ends[1]))
    together.set()
    assert begun.wait(5)
    worker.submit("c", lambda: None)
    go.set()
    assert all(end.wait(5) for end in ends) and log == [False, True]
