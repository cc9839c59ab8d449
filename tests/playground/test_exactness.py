"""The exactness check in words, and on a tiny engine: identical, a difference that is not hidden, others meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from engine.chat import ChatSession
from engine.events import CheckEvent
from playground.conversation import Conversation
from playground.exactness import KEPT, OneAtATime, progress_line, verdict
from playground.limits import TurnOptions
from playground.worker import Worker
from tests.playground.fakes import FakeTokenizer


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (CheckEvent(identical=True, tokens=1), "Identical to plain decoding: 1 token."),
        (CheckEvent(identical=True, tokens=1600), "Identical to plain decoding: 1,600 tokens."),
        (CheckEvent(identical=False, tokens=412, cancelled=True), "Check stopped: 412 tokens identical so far."),
        (
            CheckEvent(identical=True, tokens=40, drawn=12),
            f"Identical to plain decoding: 40 tokens; 12 sampled ones passed over, because {KEPT}.",
        ),
        (
            CheckEvent(identical=True, tokens=0, drawn=1),
            f"Nothing to compare: every token (1) was drawn in rejection mode; {KEPT}.",
        ),
        (
            CheckEvent(identical=False, tokens=3, cancelled=True, drawn=1),
            f"Check stopped: 3 tokens identical so far; 1 sampled one passed over, because {KEPT}.",
        ),
        (
            CheckEvent(identical=False, tokens=2, index=5, expected=10, actual=11, drawn=4),
            "Not identical: after 2 tokens that are, at position 6 plain decoding gives “ w10” where this conversation "
            f"has “ w11”; 4 sampled ones passed over, because {KEPT}.",
        ),
        (
            CheckEvent(identical=False, tokens=412, index=512, expected=10, actual=11, gap=0.00031),
            "Not identical: after 412 tokens that are, at position 513 plain decoding gives “ w10” where this "
            "conversation has “ w11”, with logits 0.00031 apart.",
        ),
    ],
)
def test_the_outcome_is_one_sentence(event: CheckEvent, says: str) -> None:
    assert verdict(event, FakeTokenizer()) == says


def test_what_was_read_and_not_generated_is_said_not_to_be_compared() -> None:
    read = "; 30 tokens of earlier answers were read again, and not compared."
    assert verdict(CheckEvent(identical=True, tokens=2), FakeTokenizer(), 30).endswith(f"2 tokens{read}")


def test_checks_run_one_at_a_time_and_one_that_waits_can_be_stopped() -> None:
    release, running = threading.Event(), threading.Event()

    def check(session: Any, progress: Callable[[int, int], bool]) -> CheckEvent:
        running.set()
        assert release.wait(10)
        return CheckEvent(identical=True, tokens=session)

    line, told = OneAtATime(check), []
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(line, cast(Any, 1), lambda done, total: True)
        assert running.wait(10)
        second = line(cast(Any, 2), lambda done, total: bool(told.append((done, total))))
        assert second.cancelled and told == [(0, 0)] and not first.done()
        release.set()
        assert first.result(10).tokens == 1
    assert line(cast(Any, 3), lambda done, total: False).tokens == 3, "free again"


def test_progress_is_one_sentence() -> None:
    assert progress_line(0, 0) == "Waiting for another check to end."
    assert progress_line(412, 600) == "Checking against plain decoding: 412 of 600 tokens, no difference so far."


def test_a_conversation_on_a_real_engine_is_checked_and_a_difference_is_shown(tiny_engine: Callable[..., Any]) -> None:
    engine, worker = tiny_engine("llama", max_ctx=512), Worker()
    talk = Conversation("0" * 32, worker, lambda: ChatSession(engine))
    turn = talk.send("again again again", TurnOptions(max_new=24, burst=7)).result(60)
    other = Conversation("1" * 32, worker, lambda: ChatSession(engine))
    begun, answered = threading.Event(), threading.Event()
    real = talk._check

    def slow(session: Any, progress: Callable[[int, int], bool]) -> CheckEvent:
        def wait(done: int, total: int) -> bool:
            begun.set()
            return answered.wait(60) and progress(done, total)

        return real(session, wait)

    talk._check = slow
    future = talk.check()
    assert begun.wait(60)
    assert other.send("meanwhile", TurnOptions(max_new=8)).result(60).tokens, "another session goes on"
    answered.set()
    assert future.result(60).identical
    assert talk.view().notice == f"Identical to plain decoding: {len(turn.tokens) + len(turn.hidden)} tokens."

    session, at = talk.chat.session, turn.start + 5  # type: ignore[union-attr]
    session.committed[at] = (session.committed[at] + 1) % 100
    found = talk.check().result(60)
    assert (found.identical, found.index, found.tokens) == (False, at, 5) and found.gap is not None and found.gap > 0
    assert f"at position {at + 1}" in talk.view().notice
    worker.close()
