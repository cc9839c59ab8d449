"""The Models panel: what runs, what may be loaded instead, and the load itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from engine.checkpoints.memory import FreeMemory, free_memory
from engine.errors import EngineError
from playground import tab as browser
from playground.decoding_controls import DRAFTER_LABELS
from playground.limits import Refused
from playground.models.allowed import NONE, Allowed
from playground.models.assets import now_view, pairs_view
from playground.models.catalogue import ENTRIES, NGRAM, entry_of
from playground.models.loading import Before
from playground.models.machine import machine_of
from playground.models.outlook import fault, outlook
from playground.models.prepare import prepare
from playground.models.reading import now_reading, pair_rows
from playground.names import drafter_label, offered, public_name
from playground.race.wire import answer_of, question_of

if TYPE_CHECKING:
    from playground.service import Service
    from playground.settings import Settings

QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
NO_REFUSAL = "() => ''"
"""Runs when a box was changed: a refusal was of what stood there before."""
ALERT = '<p class="says dm-refusal" role="alert"></p>'
QUIET = '<p class="says" role="status" aria-live="polite"></p>'
FREE = "A Hub id, a local folder, a .gguf file, or default."
LISTED = "One of the list below; other models are for the operator of this app."
TOO_LATE = "Nothing is being loaded any more."


class ModelControls:
    """Makes the panel where it is constructed, inside a `gr.Blocks`; `wire` connects it to a page.

    `models` is the operator's list (`--models`). `before` is what is done ahead of a load, `free` tells a device's free
    bytes.
    """

    def __init__(
        self, service: Service, models: str = "", *, before: Before = prepare, free: FreeMemory = free_memory
    ) -> None:
        self._service = service
        self._allowed = Allowed(service.settings, models)
        self._before = before
        self._free = free
        self._starter = ""
        """Whose load was the last one."""
        self._follower: tuple[str, int] | None = None
        """Whose page takes the new drafter, and how many engines there had been when that load began."""

        def reading(data: object) -> str:  # Gradio marks server functions, and a bound method takes no mark
            return self.reading(data)

        with gr.Column(elem_id="models"):
            self.now = gr.HTML("", **now_view(), server_functions=[reading])
            with gr.Column(elem_id="models_form", visible=self._allowed.any):
                self._form()
            gr.HTML(f'<p class="says">{NONE}</p>', visible=not self._allowed.any)
            self.pairs = gr.HTML("", **pairs_view())

    def wire(self, sid: gr.Textbox, opened: Any, drafter: gr.Dropdown | None = None) -> None:
        """Connect to a page. `sid` holds the visitor's session id, `opened` is the event after which it does, and
        `drafter` is the page's own choice of a drafter, which follows a switch."""
        buttons = [self.load, self.cancel, self.unload]
        begun = [self.now, self.refusal, *buttons, self.says]
        asks = [sid, self.checkpoint, self.drafter]
        pages = [] if drafter is None else [drafter]
        opened.then(self.opened, [sid, *pages], [self.now, self.pairs, *buttons, *pages], **QUICK)
        self.now.change(self.settled, [sid, *pages], [self.pairs, *buttons, *pages], **QUICK)
        self.load.click(self.begin, asks, begun, **QUICK)
        self.unload.click(self.begin_unloaded, asks, begun, **QUICK)
        self.cancel.click(self.call_off, [sid], [self.refusal], **QUICK)
        picked = self.pairs.select(self.pick, None, [self.checkpoint, self.drafter, self.refusal], **QUICK)
        named = self.checkpoint.input(self.suggest, [self.checkpoint], [self.drafter], **QUICK)
        for event in (picked.then, named.then, self.drafter.input):
            event(self.outlook, [self.checkpoint, self.drafter], [self.says], **QUICK)
        for box in (self.checkpoint, self.drafter):
            # By the page itself, at once: an answer of the server's could come after the refusal of the next press.
            box.input(None, None, [self.refusal], js=NO_REFUSAL, **QUICK)

    def opened(self, sid: str, *drafter: object) -> tuple[Any, ...]:
        """A page has its session: both views, the buttons, and the page's own drafter."""
        return answer_of({"sid": sid}), self._rows(), *self._buttons(), *self._page_drafter(sid, drafter)

    def settled(self, sid: str, *drafter: object) -> tuple[Any, ...]:
        """A load began or ended, whoever asked for it."""
        return self._rows(), *self._buttons(), *self._page_drafter(sid, drafter)

    def begin(self, sid: str, checkpoint: object, drafter: object, unload_first: bool = False) -> tuple[Any, ...]:
        """Start a load: the view's value, a refusal or '', the buttons, and '' for an outlook that says the same."""
        try:
            self._service.registry.get(sid)
            wanted = self._allowed.settings(checkpoint, drafter)
            engines = self._service.status.engines  # before the start: a quick load may have ended when it returns
            self._service.start(wanted, unload_first=unload_first, before=self._before)
        except Refused as refused:
            same = self.outlook(checkpoint, drafter) == str(refused)
            return gr.skip(), str(refused), *self._buttons(), "" if same else gr.skip()
        self._starter, self._follower = sid, (sid, engines)
        # What the load will end with, its own view says.
        outlook = "" if self._faulty(wanted) else gr.skip()
        return answer_of({"sid": sid, "version": self._service.status.version}), "", *self._buttons(), outlook

    def begin_unloaded(self, sid: str, checkpoint: object, drafter: object) -> tuple[Any, ...]:
        """As `begin`; the running model is unloaded first, which ends the answers that are being written."""
        return self.begin(sid, checkpoint, drafter, unload_first=True)

    def call_off(self, sid: str) -> str:
        """Cancel the load: who started it may, and on its owner's machine anybody. Returns a refusal, or ''."""
        try:
            self._service.registry.get(sid)
        except Refused as refused:
            return str(refused)
        if not self._allowed.free and sid != self._starter:
            return "Another visitor is loading this model; only they can cancel it."
        return "" if self._service.cancel() else TOO_LATE

    def pick(self, event: gr.EventData) -> tuple[Any, ...]:
        """A row was chosen: the boxes with its pair, and no refusal."""
        key = getattr(event, "pair", None)
        entry = next((entry for entry in ENTRIES if entry.key == key), None)
        if entry is None:
            return gr.skip(), gr.skip(), ""
        return entry.reference, gr.update(choices=self._choices(entry.reference), value=entry.drafter), ""

    def suggest(self, checkpoint: object) -> Any:
        """The drafters to choose from for another checkpoint, with the suggested one chosen."""
        entry = entry_of(str(checkpoint).strip())
        return gr.update(choices=self._choices(str(checkpoint)), value=entry.drafter if entry else NGRAM)

    def outlook(self, checkpoint: object, drafter: object) -> str:
        """What loading this pair would come to, in sentences."""
        try:
            wanted = self._allowed.settings(checkpoint, drafter)
        except Refused as refused:
            return str(refused)
        try:
            return " ".join(outlook(wanted, machine_of(self._service, self._free)))
        except EngineError as error:  # the device itself is not there
            return str(error)

    def reading(self, data: object) -> str:
        """What the view of the running model shows, as JSON; '' for an id that is not known."""
        asked = question_of(data, self._service.registry)
        if asked is None:
            return ""
        return answer_of(now_reading(self._service, self._service.registry.get(asked["sid"])))

    def _faulty(self, wanted: Settings) -> bool:
        try:
            return fault(wanted, machine_of(self._service, self._free)) != ""
        except EngineError:  # the device itself is not there
            return True

    def _form(self) -> None:
        free, settings = self._allowed.free, self._service.settings
        model, drafter = self._allowed.shown_model(settings.model), self._allowed.shown_drafter(settings.drafter)
        with gr.Row():
            self.checkpoint = gr.Dropdown(
                self._allowed.models(),
                value=model,
                label="Checkpoint",
                elem_id="models_checkpoint",
                allow_custom_value=free,
                min_width=240,
                info=FREE if free else LISTED,
            )
            self.drafter = gr.Dropdown(
                self._choices(model),
                value=drafter,
                label="Drafter",
                elem_id="models_drafter",
                allow_custom_value=free,
                min_width=240,
                info="N-gram, none" + (", or model:REF with the same tokenizer." if free else ", or a draft model."),
            )
        self.says = gr.HTML("", elem_id="models_outlook", html_template=QUIET, js_on_load=browser.SENTENCE)
        self.refusal = gr.HTML("", elem_id="models_refusal", html_template=ALERT, js_on_load=browser.SENTENCE)
        with gr.Row(elem_id="models_actions", elem_classes="dm-actions"):
            self.load = gr.Button("Load", variant="primary", elem_id="models_load", scale=0)
            self.cancel = gr.Button("Cancel", elem_id="models_cancel", scale=0, interactive=False)
            self.unload = gr.Button("Unload the running model, then load", elem_id="models_unload", visible=False)

    def _choices(self, checkpoint: str) -> list[tuple[str, str]]:
        return self._allowed.drafters(checkpoint)

    def _rows(self) -> str:
        return answer_of({"rows": pair_rows(self._service, self._allowed, self._free)})

    def _buttons(self) -> tuple[Any, Any, Any]:
        status = self._service.status
        loading = status.state == "loading"
        return (
            gr.update(interactive=not loading),
            gr.update(interactive=loading),
            gr.update(visible=status.crowded and not loading),
        )

    def _page_drafter(self, sid: str, present: tuple[object, ...]) -> list[Any]:
        """The page's own drafters are those of the running engine: the loader's page takes the new one once, another
        page keeps its own where it is still offered."""
        if not present:
            return []
        settings, engines = self._service.settings, self._service.status.engines
        names = list(offered(settings))
        follows = self._follower is not None and self._follower[0] == sid and engines > self._follower[1]
        if follows:
            self._follower = None
        labels = [(DRAFTER_LABELS.get(name) or drafter_label(name), name) for name in names]
        keeps = present[0] in names and not follows
        return [gr.update(choices=labels, value=present[0] if keeps else public_name(settings.drafter))]
