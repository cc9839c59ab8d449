"""What a visitor sets before a sweep."""

from __future__ import annotations

from typing import Any

import gradio as gr

from playground import tab as browser
from playground.names import drafter_label, offered
from playground.settings import Settings
from playground.sweep.options import (
    FIRST_NEW,
    FIRST_REPEATS,
    LEAST_NEW,
    LINE_CHARS,
    MOST_LINES,
    MOST_NEW,
    MOST_REPEATS,
    NAME_CHARS,
)
from playground.sweep.prompts import CATEGORIES

INTRO = (
    '<p class="dm-intro">Which drafter, and how many drafts a round? Every prompt is decoded greedily with every '
    "setting and plainly, in turns, several times over. Others who use this engine meanwhile are served between the "
    "bursts.</p>"
)
ALERT = '<p class="says dm-refusal" role="alert"></p>'
PLAN = '<p class="says" role="status" aria-live="polite"></p>'
FIRST_LENGTHS = (1, 2, 4, 7)


class SweepControls:
    """Made in the order in which they stand."""

    def __init__(self, settings: Settings) -> None:
        self._made_for = settings
        gr.HTML(INTRO, elem_id="sweep_intro")
        with gr.Row():
            self._settings(settings)
        with gr.Row():
            self._prompts()
        with gr.Row():
            self._amounts()
        self.plan = gr.HTML("", elem_id="sweep_plan", html_template=PLAN, js_on_load=browser.SENTENCE)
        with gr.Row(elem_id="sweep_actions", elem_classes="dm-actions"):
            self.start = gr.Button("Start sweep", variant="primary", elem_id="sweep_start", scale=0)
            self.stop = gr.Button("Stop", elem_id="sweep_stop", scale=0, interactive=False)
        self.refusal = gr.HTML("", elem_id="sweep_refusal", html_template=ALERT, js_on_load=browser.SENTENCE)

    @property
    def inputs(self) -> list[Any]:
        """In the order of `options.check_sweep`."""
        return [
            self.drafters,
            self.lengths,
            self.categories,
            self.lines,
            self.max_new,
            self.repeats,
            self.name,
        ]

    @property
    def fitted(self) -> list[Any]:
        """Those whose choices depend on the model."""
        return [self.drafters, self.lengths]

    def fit(self, settings: Settings) -> tuple[Any, Any]:
        """What `fitted` becomes now that another model may be running; nothing where it is as it was made."""
        if settings == self._made_for:
            return gr.skip(), gr.skip()
        drafters, lengths = _drafters(settings), _lengths(settings)
        return (
            gr.update(choices=drafters, value=[name for _, name in drafters]),
            gr.update(choices=lengths, value=_first_lengths(settings)),
        )

    def _settings(self, settings: Settings) -> None:
        drafters = _drafters(settings)
        self.drafters = gr.CheckboxGroup(
            drafters,
            value=[name for _, name in drafters],
            label="Drafters",
            elem_id="sweep_drafters",
            min_width=240,
            info="Those that this app was started with. Plain decoding is always measured beside them.",
        )
        self.lengths = gr.CheckboxGroup(
            _lengths(settings),
            value=_first_lengths(settings),
            label="Draft lengths K",
            elem_id="sweep_lengths",
            min_width=240,
            info="Most tokens guessed at a time.",
        )

    def _prompts(self) -> None:
        self.categories = gr.CheckboxGroup(
            list(CATEGORIES),
            value=list(CATEGORIES),
            label="Kinds of prompts",
            elem_id="sweep_categories",
            min_width=240,
            info="One prompt of each: what is gained depends on the text.",
        )
        self.lines = gr.Textbox(
            value="",
            label="Your own prompts",
            lines=3,
            max_lines=8,
            max_length=MOST_LINES * (LINE_CHARS + 1) + 1,
            elem_id="sweep_lines",
            min_width=240,
            info=f"One a line, at most {MOST_LINES}. Saved sweeps hold their length and a fingerprint, not the text.",
        )

    def _amounts(self) -> None:
        self.max_new = gr.Slider(
            LEAST_NEW,
            MOST_NEW,
            value=FIRST_NEW,
            step=8,
            label="New tokens",
            elem_id="sweep_max_new",
            min_width=200,
            info="Of each answer at most.",
        )
        self.repeats = gr.Slider(
            1,
            MOST_REPEATS,
            value=FIRST_REPEATS,
            step=1,
            label="Repeats",
            elem_id="sweep_repeats",
            min_width=200,
            info="The figures are medians over them.",
        )
        self.name = gr.Textbox(
            value="",
            label="Name",
            max_length=NAME_CHARS,
            lines=1,
            max_lines=1,
            elem_id="sweep_name",
            min_width=200,
            info="To find it again; may stay empty.",
        )


def _drafters(settings: Settings) -> list[tuple[str, str]]:
    return [(drafter_label(name), name) for name in offered(settings) if name != "none"]


def _lengths(settings: Settings) -> list[tuple[str, int]]:
    return [(str(length), length) for length in range(1, settings.max_draft_len + 1)]


def _first_lengths(settings: Settings) -> list[int]:
    return [length for length in FIRST_LENGTHS if length <= settings.max_draft_len]
