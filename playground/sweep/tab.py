"""The sweep's tab: its controls, and one view that asks for news while a sweep runs and keeps the list of runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from playground.exchange.errors import ExchangeError
from playground.limits import Refused
from playground.race.assets import measuring_view
from playground.race.wire import answer_of, question_of
from playground.store.errors import StoreError
from playground.sweep.controls import SweepControls
from playground.sweep.library import Library
from playground.sweep.options import SweepOptions, check_sweep, plan_sentence
from playground.sweep.report import comparison_of, line_of, reading_of, report_of
from playground.sweep.run import LARGEST_FILE, file_text, run_of
from playground.sweep.sweeps import Sweeps

if TYPE_CHECKING:
    from playground.race.decoder import Decoder
    from playground.service import Service

QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
FOLDER = Path(__file__).parent / "assets"
SCRIPTS = tuple(FOLDER / name for name in ("heat.js", "report.js", "library.js", "sweep.js"))


class SweepTab:
    """Makes `gr.Tab("Sweep")` where it is constructed, inside `gr.Tabs`; `wire` connects it to a page."""

    def __init__(self, service: Service, decoder: Decoder | None = None, folder: Path | None = None) -> None:
        """`folder` takes the place of the user's data folder."""
        self._service = service
        self._library = Library(service.settings, folder)
        self.sweeps = Sweeps(service, self._library, decoder)

        def reading(data: object) -> str:  # Gradio marks server functions, and a bound method takes no mark
            return self.reading(data)

        def library(data: object) -> str:
            return self.library(data)

        with gr.Tab("Sweep", elem_id="sweep") as self._tab:
            self._controls = SweepControls(service.settings)
            view = measuring_view("sweep_view", SCRIPTS, "sweep.css")
            self.view = gr.HTML("", **view, server_functions=[reading, library])

    def wire(self, sid: gr.Textbox, opened: Any) -> None:
        """Connect to a page. `sid` holds the visitor's session id, `opened` is the event after which it does."""
        own = self._controls
        shown = [self.view, own.refusal, own.start, own.stop]
        own.start.click(self.begin, [sid, *own.inputs], shown, **QUICK)
        own.stop.click(self.stop, [sid], [own.refusal], **QUICK)
        opened.then(self.opened, [sid], shown, **QUICK).then(self.plan, own.inputs, [own.plan], **QUICK)
        for follow in (opened.then, self._tab.select):
            follow(lambda: own.fit(self._service.settings), None, own.fitted, **QUICK)
        self.view.change(self.buttons, [sid], [own.start, own.stop], **QUICK)
        for control in own.inputs:
            control.change(self.plan, own.inputs, [own.plan], **QUICK)

    def begin(self, sid: str, *asked: object) -> tuple[Any, str, Any, Any]:
        """Start a sweep: the view's value, a refusal or '', and both buttons."""
        try:
            self._service.registry.get(sid)
            self.sweeps.start(sid, self._options(asked))
        except Refused as refused:
            return gr.skip(), str(refused), *self.buttons(sid)
        return self._value(sid), "", *self.buttons(sid)

    def stop(self, sid: str) -> str:
        """End the visitor's sweep. Returns a refusal, or ''."""
        try:
            self._service.registry.get(sid)
            self.sweeps.stop(sid)
        except Refused as refused:
            return str(refused)
        return ""

    def opened(self, sid: str) -> tuple[Any, str, Any, Any]:
        """A page has its session: it shows that visitor's latest sweep, running or not."""
        return self._value(sid), "", *self.buttons(sid)

    def buttons(self, sid: str) -> tuple[Any, Any]:
        """Start and Stop, as the visitor's latest sweep needs them."""
        sweep = self.sweeps.latest(sid)
        runs = sweep is not None and not sweep.ended
        return gr.update(interactive=not runs), gr.update(interactive=runs)

    def plan(self, *asked: object) -> str:
        """What would be measured with these settings, or why it would be refused."""
        try:
            return plan_sentence(self._options(asked))
        except Refused as refused:
            return str(refused)

    def reading(self, data: object) -> str:
        """How far the visitor's latest sweep is, as JSON; '' for an id that is not known or without one."""
        asked = question_of(data, self._service.registry)
        sweep = None if asked is None else self.sweeps.latest(asked["sid"])
        return "" if sweep is None else answer_of(reading_of(self.sweeps, sweep))

    def library(self, data: object) -> str:
        """What the list of runs asks for, as JSON: an object with `error`, or with what was asked. '' as above.

        `do` is `list`, `open`, `compare` (with `other`), `remove`, `download`, or `take` (a file's `text`).
        """
        asked = question_of(data, self._service.registry, longest=2 * LARGEST_FILE)
        if asked is None:
            return ""
        doing: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "list": self._list,
            "open": lambda asked: {"report": report_of(self._library.get(asked["sid"], asked.get("id")))},
            "compare": self._compare,
            "remove": self._remove,
            "download": lambda asked: {"text": file_text(self._library.get(asked["sid"], asked.get("id")))},
            "take": self._take,
        }
        do = doing.get(str(asked.get("do")))
        try:
            return answer_of({"error": "That is not known here."} if do is None else do(asked))
        except (StoreError, ExchangeError) as known:
            return answer_of({"error": str(known)})

    def close(self) -> None:
        """Stop what runs; called before the worker is closed."""
        self.sweeps.close()

    def _list(self, asked: dict[str, Any]) -> dict[str, Any]:
        lines, note = self._library.listed(asked["sid"])
        return {"lines": [line_of(line) for line in lines], "note": note, "saves": self._library.saves}

    def _compare(self, asked: dict[str, Any]) -> dict[str, Any]:
        before = self._library.get(asked["sid"], asked.get("id"))
        return {"comparison": comparison_of(before, self._library.get(asked["sid"], asked.get("other")))}

    def _remove(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._library.remove(asked["sid"], asked.get("id"))
        return self._list(asked)

    def _take(self, asked: dict[str, Any]) -> dict[str, Any]:
        text = asked.get("text")
        if not isinstance(text, str):
            raise ExchangeError("The file could not be read as text.")
        run = self._library.take(asked["sid"], run_of(text.encode("utf-8", "replace")))
        return self._list(asked) | {"report": report_of(run)}

    def _options(self, asked: tuple[object, ...]) -> SweepOptions:
        return check_sweep(*asked, settings=self._service.settings)

    def _value(self, sid: str) -> str:
        sweep = self.sweeps.latest(sid)
        return answer_of({"sid": sid, "number": 0 if sweep is None else sweep.number})
