"""Which pace a page and a conversation have when they meet: a new one takes the page's, any other shows its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from playground.limits import Refused, TurnOptions
from playground.step_controls import StepControls
from playground.stepping import Stepping
from playground.worker import Worker

SID = "a" * 32


@pytest.fixture
def conversation() -> Any:
    worker = Worker()
    yield SimpleNamespace(options=None, stepping=Stepping(worker, lambda waiting: None))
    worker.close()


@pytest.fixture
def controls(conversation: Any) -> StepControls:
    def get(sid: str) -> Any:
        if sid != SID:
            raise Refused("Not known.")
        return conversation

    with gr.Blocks():
        return StepControls(SimpleNamespace(registry=SimpleNamespace(get=get)))  # type: ignore[arg-type]


def test_a_new_conversation_takes_the_pace_that_the_page_shows(controls: StepControls, conversation: Any) -> None:
    assert controls.meet(SID, "round") == "round" and conversation.stepping.pace == "round"
    assert controls.meet(SID, "sideways") == "round"


def test_a_page_that_comes_back_shows_the_pace_of_its_conversation(controls: StepControls, conversation: Any) -> None:
    conversation.options = TurnOptions()
    conversation.stepping.set_pace("stage")
    assert controls.meet(SID, "run") == "stage" and conversation.stepping.pace == "stage"


def test_an_unknown_conversation_changes_nothing(controls: StepControls) -> None:
    assert controls.meet("?", "stage") == gr.skip()
