"""A drafter that lies in a folder is called by its last part wherever a visitor reads it, and is found by that name."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr
import pytest

from engine import events as ev
from playground.decoding_controls import decoding_controls
from playground.limits import Refused, TurnOptions, check_options
from playground.names import offered, public_name
from playground.panels.timeline import Timeline
from playground.settings import Settings
from playground.shown_options import shown_options

OWN = "model:/home/ann/private/small-draft"
SETTINGS = Settings(host="0.0.0.0", drafter=OWN)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (OWN, "model:small-draft"),
        ("model:C:\\ann\\small.gguf", "model:small.gguf"),
        ("model:org/small", "model:org/small"),
        ("ngram", "ngram"),
    ],
)
def test_a_path_is_cut_to_its_last_part(name: str, shown: str):
    assert public_name(name) == shown and public_name(shown) == shown


def test_the_public_name_chooses_the_drafter_and_a_refusal_names_no_path():
    assert offered(SETTINGS) == {"none": "none", "ngram": "ngram", "model:small-draft": OWN}
    assert check_options(settings=SETTINGS, drafter="model:small-draft").drafter == OWN
    assert check_options(settings=SETTINGS, drafter=OWN).drafter == OWN, "as a kept conversation has it"
    with pytest.raises(Refused, match="none, ngram, model:small-draft; others") as refused:
        check_options(settings=SETTINGS, drafter="model:/etc")
    assert "ann" not in str(refused.value)


def test_the_page_and_its_panels_name_no_path():
    with gr.Blocks():
        controls: dict[str, Any] = decoding_controls(SETTINGS, TurnOptions(drafter=OWN))
    assert controls["drafter"].value == "model:small-draft"
    said = [controls["drafter"].choices, shown_options(TurnOptions(drafter=OWN))]
    timeline = Timeline()
    timeline.add(ev.DrafterEvent(drafter=OWN, draft_len=3, action="changed", pos=0, why=f"{OWN} was asked for."))
    said.append(timeline.all())
    assert "small-draft" in json.dumps(said) and "ann" not in json.dumps(said)
