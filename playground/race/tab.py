"""The race's tab: its controls, and one view that asks for news while a race runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from playground.limits import Refused
from playground.race.assets import race_view
from playground.race.controls import RaceControls
from playground.race.options import RaceOptions, check_race
from playground.race.races import Races
from playground.race.reading import file_of, reading_of
from playground.race.wire import answer_of, question_of

if TYPE_CHECKING:
    from playground.race.decoder import Decoder
    from playground.service import Service

QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}


class RaceTab:
    """Makes `gr.Tab("Race")` where it is constructed, inside `gr.Tabs`; `wire` connects it to a page."""

    def __init__(self, service: Service, decoder: Decoder | None = None) -> None:
        self._service = service
        self.races = Races(service, decoder)

        def reading(data: object) -> str:  # Gradio marks server functions, and a bound method takes no mark
            return self.reading(data)

        def download(data: object) -> str:
            return self.download(data)

        with gr.Tab("Race", elem_id="race") as self._tab:
            self._controls = RaceControls(service.settings)
            self.view = gr.HTML("", **race_view(), server_functions=[reading, download])

    def wire(self, sid: gr.Textbox, opened: Any) -> None:
        """Connect to a page. `sid` holds the visitor's session id, `opened` is the event after which it does."""
        own = self._controls
        shown = [self.view, own.refusal, own.start, own.stop]
        asks = [sid, *own.inputs]
        own.start.click(self.begin, asks, shown, **QUICK)
        own.prompt.submit(self.begin, asks, shown, **QUICK)
        own.stop.click(self.stop, [sid], [own.refusal], **QUICK)
        opened.then(self.opened, [sid], shown, **QUICK)
        for follow in (opened.then, self._tab.select):
            follow(lambda: own.fit(self._service.settings), None, own.fitted, **QUICK)
        self.view.change(self.buttons, [sid], [own.start, own.stop], **QUICK)

    def begin(self, sid: str, *asked: object) -> tuple[Any, str, Any, Any]:
        """Start a race: the view's value, a refusal or '', and both buttons."""
        try:
            self._service.registry.get(sid)
            self.races.start(sid, self._options(asked))
        except Refused as refused:
            return gr.skip(), str(refused), *self.buttons(sid)
        return self._value(sid), "", *self.buttons(sid)

    def stop(self, sid: str) -> str:
        """End the visitor's race. Returns a refusal, or ''."""
        try:
            self._service.registry.get(sid)
            self.races.stop(sid)
        except Refused as refused:
            return str(refused)
        return ""

    def opened(self, sid: str) -> tuple[Any, str, Any, Any]:
        """A page has its session: it shows that visitor's latest race, running or not."""
        return self._value(sid), "", *self.buttons(sid)

    def buttons(self, sid: str) -> tuple[Any, Any]:
        """Start and Stop, as the visitor's latest race needs them."""
        race = self.races.latest(sid)
        runs = race is not None and not race.ended
        return gr.update(interactive=not runs), gr.update(interactive=runs)

    def reading(self, data: object) -> str:
        """What a view lacks of the visitor's latest race, as JSON; '' for an id that is not known or without one."""
        asked = question_of(data, self._service.registry)
        race = None if asked is None else self.races.latest(asked["sid"])
        if asked is None or race is None:
            return ""
        seen = _seen(asked.get("seen")) if asked.get("number") == race.number else (0, 0)
        return answer_of(reading_of(self.races, race, seen))

    def download(self, data: object) -> str:
        """The visitor's latest race as a file's text; '' without one."""
        asked = question_of(data, self._service.registry)
        race = None if asked is None else self.races.latest(asked["sid"])
        return "" if race is None else answer_of(file_of(race))

    def close(self) -> None:
        """Stop what runs; called before the worker is closed."""
        self.races.close()

    def _options(self, asked: tuple[object, ...]) -> RaceOptions:
        return check_race(*asked, settings=self._service.settings)

    def _value(self, sid: str) -> str:
        race = self.races.latest(sid)
        return answer_of({"sid": sid, "number": 0 if race is None else race.number})


def _seen(value: object) -> tuple[int, int]:
    """How many pieces of each lane a page says it has."""
    if isinstance(value, list) and len(value) == 2 and all(type(count) is int and count >= 0 for count in value):
        return value[0], value[1]
    return 0, 0
