"""What a turn says when memory runs out, a forward breaks or its thread is ended; other conversations go on."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from engine.errors import EngineError
from playground.conversation import Conversation
from playground.failures import let_go, ran_out_of_memory, sentence_of
from playground.limits import Refused, TurnOptions
from playground.sentences import OUT_OF_MEMORY, UNEXPECTED
from playground.service import Service
from playground.worker import Worker
from tests.playground.conftest import tiny_service
from tests.playground.fakes import FakeChat, FakeEngine, fake_check
from tests.playground.test_conversation import wait_for

OPTIONS = TurnOptions(max_new=12)
ALLOCATOR = RuntimeError("[enforce fail at alloc_cpu.cpp:130] DefaultCPUAllocator: can't allocate memory: 9 bytes")


@pytest.fixture
def service(tiny_checkpoint: Callable[[str], Path]) -> Iterator[Service]:
    with tiny_service(tiny_checkpoint("llama"), 256) as service:
        yield service


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (torch.OutOfMemoryError("CUDA out of memory, /home/ann/model"), OUT_OF_MEMORY),
        (MemoryError(), OUT_OF_MEMORY),
        (ALLOCATOR, OUT_OF_MEMORY),
        (RuntimeError("/home/ann/secret is broken"), UNEXPECTED),
        (EngineError("The model produced a value that is not a number at position 9; nothing was committed."), None),
    ],
)
def test_an_error_in_the_middle_of_an_answer_is_a_sentence_and_everybody_goes_on(
    service: Service, monkeypatch: pytest.MonkeyPatch, error: Exception, sentence: str | None
) -> None:
    mine, other = service.registry.new(), service.registry.new()
    before = mine.send("The quick brown fox", OPTIONS).result(30)
    trunk: Any = service.engine.trunk  # type: ignore[union-attr]
    run, calls = trunk.run, 0

    def breaks(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise error
        return run(*given, **named)

    monkeypatch.setattr(trunk, "run", breaks)
    with pytest.raises((Refused, EngineError)):
        mine.send("and then", OPTIONS).result(30)
    view = mine.view()
    assert not view.running and view.notice == (sentence or str(error)) and "ann" not in view.notice
    assert view.messages[:2] == (("user", "The quick brown fox"), ("assistant", before.text))
    assert len(other.send("hello", OPTIONS).result(30).tokens) > 0
    assert len(mine.send("and now", OPTIONS).result(30).tokens) > 0
    assert not mine.view().notice


def test_a_value_that_is_not_a_number_ends_the_turn_with_what_to_do(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = service.registry.new(), service.registry.new()
    mine.send("The quick brown fox", OPTIONS).result(30)
    trunk: Any = service.engine.trunk  # type: ignore[union-attr]
    run = trunk.run

    def poisoned(*given: Any, **named: Any) -> Any:
        logits, hidden = run(*given, **named)
        return logits * float("nan"), hidden

    with monkeypatch.context() as once:
        once.setattr(trunk, "run", poisoned)
        with pytest.raises(EngineError, match="not a number"):
            mine.send("and then", OPTIONS).result(30)
    assert "not a number" in mine.view().notice
    assert len(other.send("hello", OPTIONS).result(30).tokens) > 0
    assert len(mine.send("and then", OPTIONS).result(30).tokens) > 0


def kill(thread: threading.Thread) -> None:
    """End a thread as `sys.exit` in it would, at its next instruction."""
    ended = ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
    assert ended == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_turn_whose_thread_is_ended_says_so_and_the_line_goes_on() -> None:
    worker = Worker()

    def build(sid: str) -> Conversation:
        return Conversation(
            sid * 32, worker, lambda: cast(Any, FakeChat(FakeEngine(pace=0.01, answer=400))), fake_check
        )

    mine, other = build("0"), build("1")
    future = mine.send("hello", TurnOptions(max_new=300))
    wait_for(lambda: mine.view().phase == "decoding")
    kill(next(thread for thread in threading.enumerate() if thread.name == f"engine: {'0' * 32}"))
    with pytest.raises(Refused, match="Something went wrong"):
        future.result(10)
    assert not mine.view().running and mine.view().notice == UNEXPECTED
    assert other.send("hello", OPTIONS).result(10).reason == "length"
    assert mine.send("again", OPTIONS).result(10).reason == "length"
    worker.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_line_outlives_the_thread_that_hands_out_the_engine() -> None:
    worker = Worker(idle_s=0.02)
    done: list[int] = []
    worker.submit("a", lambda: done.append(1))
    wait_for(lambda: done == [1])
    first = worker._thread
    kill(first)
    wait_for(lambda: not first.is_alive())
    worker.submit("a", lambda: done.append(2))
    wait_for(lambda: done == [1, 2])
    worker.close()


def test_memory_of_a_call_that_ran_out_is_let_go_although_its_error_is_kept() -> None:
    class Block:
        pass

    kept: list[Exception] = []
    blocks: list[weakref.ref[Block]] = []

    def call(error: Exception) -> None:
        block = Block()
        blocks.append(weakref.ref(block))
        raise error

    for error in (MemoryError(), RuntimeError("something else")):
        try:
            call(error)
        except (MemoryError, RuntimeError) as caught:
            let_go(caught)
            kept.append(caught)
    gc.collect()
    assert blocks[0]() is None and blocks[1]() is not None
    assert [sentence_of(error) for error in kept] == [OUT_OF_MEMORY, UNEXPECTED]
    assert ran_out_of_memory(ALLOCATOR) and not ran_out_of_memory(None)
