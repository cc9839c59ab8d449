"""How tokens are drawn: temperature, verification, filters, penalties and seed, each with what it does."""

from __future__ import annotations

from typing import Any

import gradio as gr

from playground.limits import TurnOptions
from playground.sampling_labels import LABELS

WARMEST = 2.0
"""Highest temperature that the page offers by itself; a script may ask for more, and then it is shown as it is."""
GUARANTEES = (
    "What speculation keeps of plain sampling. Rejection keeps the odds of every token: drafts pass by a random test. "
    "Coupled keeps the text: a seed gives the same tokens whatever the drafter and K, and fewer drafts are accepted."
)


def sampling_controls(first: TurnOptions) -> dict[str, Any]:
    """Controls by the names of `TurnOptions`' fields."""
    return _mode(first) | _filters(first) | _penalties(first)


def shown_temperature(value: float) -> Any:
    """The temperature of a conversation on its slider, which reaches as far as a script went."""
    return gr.update(value=value, maximum=max(WARMEST, value))


def _mode(first: TurnOptions) -> dict[str, Any]:
    temperature = gr.Slider(
        0,
        WARMEST,
        value=first.temperature,
        step=0.05,
        label=LABELS["temperature"],
        elem_id="temperature",
        info="0 is greedy: always the likeliest token. Above 0 tokens are drawn; the higher, the more varied.",
    )
    verify = gr.Radio(
        [("Rejection: exact in distribution", "rejection"), ("Coupled: exact in stream", "coupled")],
        value=first.verify,
        label=LABELS["verify"],
        elem_id="verify",
        info=GUARANTEES,
    )
    seed = gr.Textbox(
        value="" if first.seed is None else str(first.seed),
        label=LABELS["seed"],
        max_lines=1,
        elem_id="seed",
        placeholder="fresh",
        info="The same seed and settings draw the same text in a new conversation. Empty: a fresh one, told when an "
        "answer is done.",
    )
    return {"temperature": temperature, "seed": seed, "verify": verify}


def _filters(first: TurnOptions) -> dict[str, Any]:
    with gr.Row():
        top_k = _number("top_k", first.top_k, 1, "Keep the k likeliest tokens; 0 keeps all.", precision=0)
        top_p = _number("top_p", first.top_p, 0.05, "Keep the likeliest until they add up to p; 1 keeps all.")
        min_p = _number("min_p", first.min_p, 0.01, "Keep those with this share of the best odds; 0: all.")
    return {"top_k": top_k, "top_p": top_p, "min_p": min_p}


def _penalties(first: TurnOptions) -> dict[str, Any]:
    with gr.Row():
        repetition = _number(
            "repetition_penalty",
            first.repetition_penalty,
            0.05,
            "Above 1, tokens used so far become less likely; 1 is off.",
        )
        last_n = _number(
            "penalty_last_n",
            first.penalty_last_n,
            1,
            "How many last tokens the next two penalties look at.",
            precision=0,
        )
    with gr.Row():
        frequency = _number(
            "frequency_penalty",
            first.frequency_penalty,
            0.1,
            "Taken off a token's score for each use in the window; 0 is off.",
        )
        presence = _number(
            "presence_penalty",
            first.presence_penalty,
            0.1,
            "Taken off once if it was used in the window; 0 is off.",
        )
    return {
        "repetition_penalty": repetition,
        "penalty_last_n": last_n,
        "frequency_penalty": frequency,
        "presence_penalty": presence,
    }


def _number(name: str, value: float, step: float, info: str, precision: int | None = None) -> gr.Number:
    """No bounds of its own: `check_options` says in a sentence what is out of range."""
    return gr.Number(value, label=LABELS[name], elem_id=name, step=step, info=info, precision=precision, min_width=150)
