"""The settings of a turn, as the page lists them."""

from __future__ import annotations

from typing import Any

import gradio as gr

from playground.limits import OPTIONS, TurnOptions, stop_text
from playground.names import drafter_label, offered, public_name
from playground.sampling_controls import sampling_controls
from playground.settings import MAX_NEW, Settings

DRAFTER_LABELS = {"none": "None: plain decoding", "ngram": "N-gram lookup"}


def decoding_controls(settings: Settings, first: TurnOptions) -> dict[str, Any]:
    """A control for every field of `TurnOptions`, by name and in their order."""
    with gr.Accordion("Decoding settings", open=False, elem_id="settings"):
        controls = _drafting(settings, first) | _length(first)
        with gr.Accordion("Sampling", open=False, elem_id="sampling"):
            controls |= sampling_controls(first)
        controls |= _texts(first)
    return {name: controls[name] for name in OPTIONS}


def _drafting(settings: Settings, first: TurnOptions) -> dict[str, Any]:
    choices = [(DRAFTER_LABELS.get(name) or drafter_label(name), name) for name in offered(settings)]
    with gr.Row():
        drafter = gr.Dropdown(
            choices,
            value=public_name(first.drafter),
            label="Drafter",
            elem_id="drafter",
            min_width=200,
            info="Who guesses the next tokens; n-gram lookup finds repeats. Changes the speed, never the odds.",
        )
        draft_len = gr.Slider(
            0,
            settings.max_draft_len,
            value=first.draft_len,
            step=1,
            label="Draft length K",
            elem_id="draft_len",
            min_width=200,
            info="Most tokens guessed at a time.",
        )
    return {"drafter": drafter, "draft_len": draft_len}


def _length(first: TurnOptions) -> dict[str, Any]:
    with gr.Row():
        max_new = gr.Slider(
            1,
            MAX_NEW,
            value=first.max_new,
            step=1,
            label="Max new tokens",
            elem_id="max_new",
            min_width=200,
            info="An answer stops here; Continue goes on.",
        )
        burst = gr.Slider(
            1,
            256,
            value=first.burst,
            step=1,
            label="Burst size",
            elem_id="burst",
            min_width=200,
            info="Tokens asked of the session at a time; one is carried over from burst to burst.",
        )
    overshoot = gr.Radio(
        [("Keep", "keep"), ("Trim", "trim")],
        value=first.overshoot,
        label="Overshoot",
        elem_id="overshoot",
        info="Tokens accepted past the limit: keep them ready for Continue, or drop them.",
    )
    return {"max_new": max_new, "burst": burst, "overshoot": overshoot}


def _texts(first: TurnOptions) -> dict[str, Any]:
    with gr.Row():
        stop = gr.Textbox(
            value=stop_text(first.stop),
            label="Stop strings",
            lines=2,
            max_lines=6,
            elem_id="stop_strings",
            min_width=200,
            info="One a line; the answer ends before the first. \\n stands for a line break.",
        )
        system = gr.Textbox(
            value=first.system,
            label="System message",
            lines=2,
            max_lines=6,
            elem_id="system",
            min_width=200,
            info="Put before the conversation. A change is read by the next message.",
        )
    return {"stop": stop, "system": system}
