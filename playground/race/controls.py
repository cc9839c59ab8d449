"""What a visitor sets before a race."""

from __future__ import annotations

from typing import Any

import gradio as gr

from playground import tab as browser
from playground.names import drafter_label, offered, public_name
from playground.race.options import FIRST_NEW, LARGEST_SEED, LEAST_NEW, MOST_NEW
from playground.settings import Settings

FIRST_PROMPT = "Write the numbers from 1 to 30 as a list, one per line, like this: Item 1 is ready."
INTRO = (
    '<p class="dm-intro">One prompt, decoded twice by this engine: one token at a time, and with drafts. Both run in '
    "turns, burst by burst, each on a clock of its own that runs only while it decodes.</p>"
)
ALERT = '<p class="says dm-refusal" role="alert"></p>'


class RaceControls:
    """Made in the order in which they stand."""

    def __init__(self, settings: Settings) -> None:
        self._made_for = settings
        gr.HTML(INTRO, elem_id="race_intro")
        self.prompt = gr.Textbox(
            value=FIRST_PROMPT,
            label="Prompt",
            lines=2,
            max_lines=8,
            elem_id="race_prompt",
            info="Shift and Enter together start the race.",
        )
        with gr.Row():
            self._decoding(settings)
        with gr.Accordion("Sampling", open=False, elem_id="race_sampling"):
            self._sampling()
        with gr.Row(elem_id="race_actions", elem_classes="dm-actions"):
            self.start = gr.Button("Start race", variant="primary", elem_id="race_start", scale=0)
            self.stop = gr.Button("Stop", elem_id="race_stop", scale=0, interactive=False)
        self.refusal = gr.HTML("", elem_id="race_refusal", html_template=ALERT, js_on_load=browser.SENTENCE)

    @property
    def inputs(self) -> list[Any]:
        """In the order of `options.check_race`."""
        return [
            self.prompt,
            self.drafter,
            self.draft_len,
            self.max_new,
            self.how,
            self.temperature,
            self.top_k,
            self.top_p,
            self.seed,
        ]

    @property
    def fitted(self) -> list[Any]:
        """Those whose choices depend on the model."""
        return [self.drafter, self.draft_len]

    def fit(self, settings: Settings) -> tuple[Any, Any]:
        """What `fitted` becomes now that another model may be running; nothing where it is as it was made."""
        if settings == self._made_for:
            return gr.skip(), gr.skip()
        return (
            gr.update(choices=_choices(settings), value=_first(settings)),
            gr.update(maximum=settings.max_draft_len, value=settings.draft_len),
        )

    def _decoding(self, settings: Settings) -> None:
        self.drafter = gr.Dropdown(
            _choices(settings),
            value=_first(settings),
            label="Drafter",
            elem_id="race_drafter",
            min_width=200,
            info="Who guesses in the second lane. None shows how much the clock itself wavers.",
        )
        self.draft_len = gr.Slider(
            0,
            settings.max_draft_len,
            value=settings.draft_len,
            step=1,
            label="Draft length K",
            elem_id="race_draft_len",
            min_width=200,
            info="Most tokens guessed at a time.",
        )
        self.max_new = gr.Slider(
            LEAST_NEW,
            MOST_NEW,
            value=FIRST_NEW,
            step=8,
            label="New tokens",
            elem_id="race_max_new",
            min_width=200,
            info="Both end here, or where the answer does.",
        )

    def _sampling(self) -> None:
        self.how = gr.Radio(
            [("Greedy", "greedy"), ("Sampled, coupled", "coupled"), ("Sampled, rejection", "rejection")],
            value="greedy",
            label="How tokens are chosen",
            elem_id="race_how",
            info="Greedy and coupled give the same tokens in both lanes; rejection keeps the distribution only.",
        )
        with gr.Row():
            self.temperature = gr.Slider(
                0, 2, value=0.8, step=0.05, label="Temperature", elem_id="race_temperature", min_width=160
            )
            self.top_k = gr.Slider(
                0, 200, value=0, step=1, label="Top-k", elem_id="race_top_k", min_width=160, info="0 keeps all."
            )
            self.top_p = gr.Slider(
                0.05, 1, value=0.95, step=0.01, label="Top-p", elem_id="race_top_p", min_width=160, info="1 keeps all."
            )
            self.seed = gr.Number(
                value=1,
                precision=0,
                minimum=0,
                maximum=LARGEST_SEED,
                label="Seed",
                elem_id="race_seed",
                min_width=160,
                info="The same for both; empty draws one.",
            )


def _choices(settings: Settings) -> list[tuple[str, str]]:
    names = [name for name in offered(settings) if name != "none"]
    return [*((_capital(drafter_label(name)), name) for name in names), ("None: a race against itself", "none")]


def _first(settings: Settings) -> str:
    """The model's own drafter; where that is none, the first that guesses."""
    name = public_name(settings.drafter)
    return name if name != "none" else _choices(settings)[0][1]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
