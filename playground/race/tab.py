"""The race's tab: its controls, and one view that asks for news while a race runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import gradio as gr

from playground.limits import Refused
from playground.race.assets import race_view
from playground.race.controls import RaceControls
from playground.race.options import check_race
from playground.race.race import Race
from playground.race.races import Races
from playground.race.reading import file_of, reading_of
from playground.settings import Settings

if TYPE_CHECKING:
    from playground.race.decoder import Decoder
    from playground.service import Service

QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
LONGEST_QUESTION = 300
"""Characters of what a view asks for news with."""


class RaceTab:
    """Makes `gr.Tab("Race")` where it is constructed, inside `gr.Tabs`; `wire` connects it to a page."""

    def __init__(self, service: Service, decoder: Decoder | None = None) -> None:
        self._service = service
        self.races = Races(service, decoder)

        def reading(data: object) -> str:  # Gradio marks server functions, and a bound method takes no mark
            return self.reading(data)

        def download(data: object) -> str:
            return self.download(data)

        with gr.Tab("Race", elem_id="race"):
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
        race, asked = self._asked(data)
        if race is None:
            return ""
        seen = asked.get("seen")
        same = asked.get("number") == race.number and _is_pair(seen)
        return _dumps(reading_of(self.races, race, tuple(seen) if same else (0, 0)))  # type: ignore[arg-type]

    def download(self, data: object) -> str:
        """The visitor's latest race as a file's text; '' without one."""
        race, _ = self._asked(data)
        return "" if race is None else _dumps(file_of(race))

    def close(self) -> None:
        """Stop what runs; called before the worker is closed."""
        self.races.close()

    def _asked(self, data: object) -> tuple[Race | None, dict[str, Any]]:
        text = data[0] if isinstance(data, list) and data else data
        if not isinstance(text, str) or len(text) > LONGEST_QUESTION:
            return None, {}
        try:
            asked = json.loads(text)
            sid = asked.get("sid") if isinstance(asked, dict) else None
            self._service.registry.get(sid)
        except (Refused, ValueError, RecursionError):
            return None, {}
        return self.races.latest(str(sid)), asked

    def _options(self, asked: tuple[object, ...]) -> Any:
        return check_race(*asked, settings=self._settings())  # type: ignore[arg-type]

    def _settings(self) -> Settings:
        return self._service.settings

    def _value(self, sid: str) -> str:
        race = self.races.latest(sid)
        return _dumps({"sid": sid, "number": 0 if race is None else race.number})


def _is_pair(value: object) -> bool:
    whole = isinstance(value, list) and len(value) == 2
    return whole and all(type(item) is int and item >= 0 for item in value)


def _dumps(value: dict[str, Any]) -> str:
    """Compact JSON without a literal `<`, and without the lone surrogates that no page can carry."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
