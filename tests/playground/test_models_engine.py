"""Switching real engines: tiny ones, loaded while another one answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from playground.limits import TurnOptions
from playground.models.prepare import prepare
from playground.service import Service, chat_of, load_from_settings
from playground.settings import Settings
from tests.playground.model_loads import eventually

Tiny = Callable[[str], Path]
LONG = TurnOptions(max_new=400)
SAMPLED: dict[str, Any] = {
    "temperature": 0.9, "top_k": 40, "top_p": 0.9, "min_p": 0.01, "repetition_penalty": 1.1, "frequency_penalty": 0.2,
    "presence_penalty": 0.1, "seed": 7,
}  # fmt: skip


@pytest.fixture
def start(tiny_checkpoint: Tiny) -> Settings:
    return Settings(model=str(tiny_checkpoint("llama")), device="cpu", max_ctx=512, slots=2)


def running(settings: Settings) -> Service:
    app = Service(settings, load_from_settings, chat_of)
    app.start()
    assert app.wait(60)
    assert app.status.state == "ready", app.status.sentence
    return app


def test_an_answer_is_the_same_to_the_token_while_another_model_loads(start: Settings, tiny_checkpoint: Tiny):
    alone = running(start)
    expected = alone.registry.new().send("What is the capital?", LONG).result(60).tokens
    alone.close()

    app = running(start)
    talk = app.registry.new()
    turn = talk.send("What is the capital?", LONG)
    eventually(lambda: talk.view().phase == "decoding")
    pair = Settings(**vars(start) | {"model": str(tiny_checkpoint("qwen2")), "drafter": f"model:{start.model}"})
    app.start(pair, before=prepare)
    assert turn.result(60).tokens == expected
    assert app.wait(60) and app.status.sentence == "Ready" and app.status.engines == 2
    after = talk.send("And now?", TurnOptions(max_new=20, drafter=pair.drafter)).result(60)
    assert len(after.tokens) > 0 and talk.chat is not None
    assert talk.chat.engine is app.engine and talk.chat.session.drafter.name == pair.drafter
    app.close()


def test_a_load_that_is_called_off_in_the_middle_leaves_the_running_engine_answering(
    start: Settings, tiny_checkpoint: Tiny
):
    app = running(start)
    engine, told = app.engine, []

    def stop_at_measuring(sentence: str, fraction: float | None) -> None:
        told.append((sentence, fraction))
        if sentence.startswith("Measuring"):
            assert app.cancel()

    honest = app._told
    app._told = lambda sentence, fraction: (stop_at_measuring(sentence, fraction), honest(sentence, fraction))[1]  # type: ignore[method-assign]
    app.start(Settings(**vars(start) | {"model": str(tiny_checkpoint("qwen2"))}), before=prepare)
    assert app.wait(60) and app.status.sentence == "Loading qwen2 was cancelled." and app.engine is engine
    assert [sentence for sentence, _ in told][-2:] == ["Measuring forward widths on this device", "Cancelling qwen2"]
    assert len(app.registry.new().send("hello", TurnOptions(max_new=5)).result(60).tokens) == 5
    app.close()


def test_every_load_may_use_the_threads_that_the_first_could(start: Settings, monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []
    before = torch.get_num_threads()
    monkeypatch.setattr("engine.load_engine", lambda *_, **__: seen.append(torch.get_num_threads()))
    load_from_settings(start, lambda *_: None)
    torch.set_num_threads(seen[0] + 1)
    load_from_settings(start, lambda *_: None)
    torch.set_num_threads(before)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("how", [{}, SAMPLED, SAMPLED | {"verify": "coupled"}], ids=["greedy", "rejection", "coupled"])
def test_an_answer_does_not_depend_on_the_dtype_that_a_load_sets_for_the_process(start: Settings, how: dict[str, Any]):
    app = running(start)
    options = TurnOptions(max_new=60, **how)
    expected = app.registry.new().send("What is the capital?", options).result(60).tokens
    for dtype in (torch.bfloat16, torch.float16):
        torch.set_default_dtype(dtype)  # as transformers does while it makes a model of 16 bits
        try:
            assert app.registry.new().send("What is the capital?", options).result(60).tokens == expected
        finally:
            torch.set_default_dtype(torch.float32)
    app.close()
