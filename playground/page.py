"""The page: chat first, the live view beside it, settings below. Layout and wiring only."""

from __future__ import annotations

from typing import Any

import gradio as gr

from playground import shortcuts, tab, trace_row
from playground.api import Endpoints
from playground.conversations.tab import Conversations
from playground.decoding_controls import decoding_controls
from playground.handlers import Handlers, default_options
from playground.history_controls import HistoryControls
from playground.inspector import inspector_functions
from playground.models.controls import ModelControls
from playground.openings import Openings
from playground.optional_inputs import OptionalInputs
from playground.panels import PanelAssets, figure_assets, panel_assets, token_assets
from playground.permits import SET_BUTTONS
from playground.race.tab import RaceTab
from playground.reading_level import ReadingLevel
from playground.replay import Replays, ReplayTab, replay_bar, replay_talk
from playground.service import Service
from playground.status import engine_line
from playground.step_controls import StepControls
from playground.sweep.tab import SweepTab

TITLE = "Draftscope"
INTRO = (
    "<h1>Draftscope</h1><p>Chat with a model and watch speculative decoding work: a drafter guesses the next "
    "tokens, the model checks all guesses at once and keeps those that stand. <span>Only the speed changes: greedy "
    "text stays the same, and sampled text keeps its probabilities.</span></p>"
)
PLACEHOLDER = (
    "**Say something, and watch how the answer is made.**\n\n"
    "Each token of it appears in the live view, with where it came from."
)
EXAMPLES = (
    "Write the numbers from 1 to 30, separated by commas.",
    "Explain in three sentences why the sky is blue.",
    "List five fruits. Then repeat the list in capital letters.",
)
QUEUE_LOOK_S = 0.01
"""Gradio looks for queued calls every millisecond, also while nobody is there: 3 % of a core. No eye sees ten."""
SENTENCE = '<p class="says" role="status" aria-live="polite"></p>'
ALERT = '<p class="says" role="alert"></p>'


def build_page(service: Service, handlers: Handlers) -> gr.Blocks:
    """The whole page on one service."""
    with OptionalInputs(title=TITLE, analytics_enabled=False, fill_width=True, delete_cache=(3600, 3600)) as page:
        Endpoints(service).bind()  # first, so that no handler of the page takes a public name
        Page(service, handlers).wire(page)
    page.queue(max_size=64, default_concurrency_limit=None)
    page._queue.sleep_when_free = QUEUE_LOOK_S
    return page


class Page:
    """The components, made in the order in which they stand, and the events between them."""

    def __init__(self, service: Service, handlers: Handlers) -> None:
        self._handlers = handlers
        self._replays = Replays()

        self.sid = gr.Textbox(visible="hidden", elem_id="sid", label="Session")
        with gr.Column(elem_id="top"):
            with gr.Row(elem_id="title"):
                gr.HTML(INTRO)
                self.level = ReadingLevel(service)
            self.engine = gr.HTML(engine_line(service.status), elem_id="engine")
            gr.HTML("", **shortcuts.options())
        replay_bar()
        with gr.Tabs(elem_id="workbench"):
            with gr.Tab("Chat", id="chat_tab"):
                self._chat(service)
            self.race = RaceTab(service)
            self.sweep = SweepTab(service)
            self.replay = ReplayTab(service, self._replays)
            with gr.Tab("Models"):
                self.models = ModelControls(service, service.settings.models)

    def wire(self, page: gr.Blocks) -> None:
        """Connect controls to handlers."""
        do = self._handlers
        quick: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
        told = [self.sid, self.trace, self.refusal, *self.options]
        opened = Openings(
            page.load(do.open, [self.sid], told, js=tab.OPEN, **quick),
            self.kept.view.select(do.open_chosen, None, told, **quick),
            self.fresh.click(do.open_new, None, told, **quick),
        )
        opened.then(None, [self.sid], None, js=tab.KEEP, **quick)
        say = [self.message, self.sid, *self.options]
        sends = [
            self.send.click(do.send, say, [self.message, self.refusal], **quick),
            self.message.submit(do.send, say, [self.message, self.refusal], **quick),
            self.chat.example_select(_example, None, [self.message], **quick).then(
                do.send, say, [self.message, self.refusal], **quick
            ),
        ]
        others = [
            self.resume.click(do.continue_turn, [self.sid, *self.options], [self.refusal], **quick),
            self.again.click(do.regenerate, [self.sid, *self.options], [self.refusal], **quick),
            self.clear.click(do.clear, [self.sid], [self.refusal], **quick),
            *self.history.wire(do, self.sid, self.options, self.refusal, quick),
            self.panels.clear(do.give_back, [self.sid], [self.refusal], **quick),
            self.check.click(do.check, [self.sid], [self.refusal], **quick),
            self.kept.view.input(lambda: "", None, [self.refusal], **quick),
        ]
        for control in (self.controls["drafter"].input, self.controls["draft_len"].release):
            control(do.choose_drafter, [self.sid, *self.options], [self.refusal], **quick)
        chosen = [self.history.point, self.history.fold, self.refusal]
        self.panels.select(do.choose_point, [self.sid], chosen, **quick)
        self.race.wire(self.sid, opened)
        self.sweep.wire(self.sid, opened)
        self.replay.wire(self.sid, opened)
        self.models.wire(self.sid, opened, self.controls["drafter"])
        self.steps.wire(self.sid, opened, self.refusal, quick)
        self.level.wire(page, self.sid, opened, quick)
        self.stop.click(do.stop, [self.sid], [self.refusal], **quick)
        self.pressable.change(None, [self.pressable], self._buttons(), js=SET_BUTTONS, **quick)
        # One at a time, and once more if they have changed again meanwhile: a late answer never undoes a newer one.
        self.choices.change(do.lists, [self.sid], self.history.lists, trigger_mode="always_last", **quick)
        for follow in [*(event.then for event in [opened, *sends, *others]), self.back.change]:
            shown = follow(
                do.follow,
                [self.sid, self.back],
                self._outputs(),
                js=tab.FOLLOW,
                show_progress="hidden",
                api_visibility="private",
                concurrency_limit=None,
                trigger_mode="multiple",
                postprocess=False,
            )
            rest = [self.sid, self.message, self.refusal]
            settled = shown.then(do.settle, rest, rest[1:], js=tab.FOLLOWED, **quick)
            settled.then(self.kept.news, [self.sid], [self.kept.view], **quick)

    def _chat(self, service: Service) -> None:
        """The conversation, and the live view of its session beside it."""
        do = self._handlers

        def resync(data: object) -> str:  # Gradio marks server functions, and a bound method takes no mark
            return do.resync(data)

        def news(data: object) -> int | None:
            return do.news(data)

        def trace_file(data: object) -> str:
            return do.trace_file(data)

        with gr.Row(elem_id="main"):
            with gr.Column(scale=5, min_width=320, elem_id="left"):
                replay_talk()
                self._talk(service)
                self.history = HistoryControls()
                self.kept = Conversations(service)
                self.controls = decoding_controls(service.settings, default_options(service))
                self.options = list(self.controls.values())
                self.steps = StepControls(service)
                self.trace = gr.HTML("", **trace_row.options(), server_functions=[trace_file])
                self.pressable, self.choices = _unseen("pressable"), _unseen("choices")
                self.back = gr.HTML("", **tab.links(), server_functions=[news])
            with gr.Column(scale=6, min_width=320, elem_id="right"):
                self.kpi = _view(figure_assets())
                self.panels = _view(panel_assets(), server_functions=[resync])

    def _outputs(self) -> list[Any]:
        return [
            self.chat,
            self.panels,
            self.status,
            self.engine,
            self.gauge,
            self.pressable,
            self.choices,
        ]

    def _buttons(self) -> list[Any]:
        talk = [self.send, self.stop, self.resume, self.again, self.check, self.clear]
        return [*talk, *self.history.buttons]

    def _talk(self, service: Service) -> None:
        self.chat = gr.Chatbot(
            elem_id="chat",
            label="Conversation",
            show_label=False,
            height="min(58vh, 620px)",
            min_height=320,
            layout="bubble",
            buttons=["copy"],
            feedback_options=None,
            latex_delimiters=[],
            allow_tags=False,
            group_consecutive_messages=False,
            placeholder=PLACEHOLDER,
            examples=[{"text": text} for text in EXAMPLES],
        )
        with gr.Row(elem_id="composer"):
            self.message = gr.Textbox(
                elem_id="message",
                label="Message",
                show_label=False,
                container=False,
                lines=1,
                max_lines=8,
                placeholder="Message",
                autofocus=True,
                scale=1,
            )
            self.send = gr.Button("Send", variant="primary", elem_id="send", scale=0)
            self.stop = gr.Button("Stop", elem_id="stop", scale=0, interactive=False)
        self.refusal = _sentence("refusal", ALERT)
        with gr.Row(elem_id="actions"):
            self.status = _sentence("status", SENTENCE)
            self.resume = gr.Button("Continue", size="sm", elem_id="continue", scale=0, interactive=False)
            self.again = gr.Button("Regenerate", size="sm", elem_id="regenerate", scale=0, interactive=False)
            self.check = gr.Button("Check exactness", size="sm", elem_id="check", scale=0, interactive=False)
            self.clear = gr.Button("Clear", size="sm", elem_id="clear", scale=0, interactive=False)
            self.fresh = gr.Button("New", size="sm", elem_id="new", scale=0)
        self.gauge = gr.HTML("", elem_id="gauge")
        self.tokens = _view(token_assets(), server_functions=inspector_functions(service, self._replays.shown))


def _view(assets: PanelAssets, **more: Any) -> gr.HTML:
    return gr.HTML("", **assets.options(), **more)


def _unseen(elem_id: str) -> gr.HTML:
    """Holds a text for the page's script; its `change` fires when that becomes another."""
    return gr.HTML("", elem_id=elem_id, html_template="<span></span>")


def _sentence(elem_id: str, template: str) -> gr.HTML:
    return gr.HTML("", elem_id=elem_id, html_template=template, js_on_load=tab.SENTENCE)


def _example(chosen: gr.SelectData) -> str:
    value = chosen.value
    return str(value["text"]) if isinstance(value, dict) else str(value)
