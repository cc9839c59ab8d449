"""Refusals of sampling settings: people read a control's label, scripts their own parameter, and nothing is clamped."""

from __future__ import annotations

from typing import Any, cast

import gradio as gr
import pytest

from playground.api import Endpoints
from playground.handlers import Handlers
from playground.limits import OPTIONS, Refused, TurnOptions, check_options
from playground.sampling_controls import WARMEST, sampling_controls
from playground.sampling_labels import LABELS, in_labels
from playground.settings import Settings
from playground.shown_options import on_controls, shown_options
from tests.playground.measuring_fakes import MeasuredEngine, ready_service

WRONG: dict[str, Any] = {
    "temperature": -1.0,
    "top_k": -1,
    "top_p": 1.5,
    "min_p": 2.0,
    "repetition_penalty": 0.0,
    "penalty_last_n": -1,
    "frequency_penalty": 500.0,
    "presence_penalty": None,
    "seed": str(2**64),
}


def refusal(name: str) -> str:
    with pytest.raises(Refused) as caught:
        check_options(settings=Settings(), **{name: WRONG[name]})
    return str(caught.value)


@pytest.mark.parametrize("name", WRONG)
def test_a_person_reads_the_controls_label_and_nothing_else_of_it_changes(name: str) -> None:
    said = refusal(name)
    assert said.startswith(f"{name} must be")
    read = in_labels(said)
    assert read.startswith(f"{LABELS[name]} must be") and name not in read
    assert read.replace("; its box is empty.", ", got None.") == said.replace(name, LABELS[name], 1)


def test_the_labels_are_those_of_the_controls() -> None:
    with gr.Blocks():
        controls = sampling_controls(TurnOptions())
    assert {name: control.label for name, control in controls.items()} == LABELS


def test_the_page_and_an_endpoint_say_the_same_in_their_own_words() -> None:
    service = ready_service(MeasuredEngine())
    sid = service.registry.new().sid
    values = dict(zip(OPTIONS, shown_options(TurnOptions()), strict=True)) | {"top_p": 1.5}
    _, on_page = Handlers(service).send("hello", sid, *values.values())
    assert on_page == "Top-p must be a number from 0 to 1, got 1.5."
    with pytest.raises(gr.Error, match=r"top_p must be a number from 0 to 1, got 1\.5\."):
        cast(Any, Endpoints(service)).chat("hello", sid, top_p=1.5)
    service.close()


@pytest.mark.parametrize(("asked", "most"), [(0.7, WARMEST), (5.0, 5.0)])
def test_a_temperature_from_a_script_is_shown_as_it_is(asked: float, most: float) -> None:
    shown = dict(zip(OPTIONS, on_controls(TurnOptions(temperature=asked)), strict=True))
    assert (shown["temperature"]["value"], shown["temperature"]["maximum"]) == (asked, most)
