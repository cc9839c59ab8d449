"""What the three gr.HTML components are made of: one tiny template each, one style sheet, small scripts joined.

Only `panels` receives a value, and it receives every delta; `kpi` and `tokens` read the same store in the page. One
string on the wire per tick, one order of deltas, no way for the views to disagree.

Gradio compiles the HTML and CSS templates of a component anew whenever its value changes, and re-attaches the
scoped style. So the templates are one empty element, `css_template` is empty, and the scripts build the page and
add the style sheet to the document once.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from playground.panels.figures import FIGURES

FOLDER = Path(__file__).parent / "assets"
TOKENS_SHEET = FOLDER.parents[1] / "assets" / "tokens.css"
STYLES = ("panels.css", "empty.css", "inspector.css")
SHARED = ("store.js", "dom.js", "clock.js", "pin.js", "accept_test.js")
PANELS = (
    "plot.js",
    "pattern.js",
    "table_rows.js",
    "table.js",
    "save.js",
    "plain_words.js",
    "frame.js",
    "window.js",
    "overview.js",
    "fate.js",
    "way_back.js",
    "length.js",
    "acceptance.js",
    "pending.js",
    "machine_map.js",
    "machine.js",
    "speed_gain.js",
    "speed.js",
    "overshoot.js",
    "fold.js",
    "memory.js",
    "replay_badge.js",
    "counters.js",
    "pinnable.js",
    "panels.js",
)
TOKENS = (
    "ask_inspector.js",
    "turns.js",
    "pin_chip.js",
    "chat_mark.js",
    "foot.js",
    "inspector_parts.js",
    "inspector.js",
    "tokens.js",
)


@dataclass(frozen=True)
class PanelAssets:
    """The strings of one gr.HTML component, and the id of its element."""

    elem_id: str
    html_template: str
    css_template: str
    js_on_load: str

    def options(self) -> dict[str, Any]:
        """Keyword arguments for `gr.HTML`; for `panels`, `server_functions=[resync]` comes on top."""
        strings = {key: getattr(self, key) for key in ("elem_id", "html_template", "css_template", "js_on_load")}
        return strings | {"apply_default_css": False, "container": False, "padding": False}


def panel_assets() -> PanelAssets:
    """The charts, and the component that takes the deltas as its value. elem_id `panels`."""
    return _component("panels", "ds-panels", PANELS)


def figure_assets() -> PanelAssets:
    """The line of figures. elem_id `kpi`; takes no value."""
    return _component("kpi", "ds-figures", ("kpi.js",))


def token_assets() -> PanelAssets:
    """A turn token by token, and the inspector. elem_id `tokens`; takes no value.

    With `server_functions=inspector_functions(service)` it can look into tokens and turn to earlier turns.
    """
    return _component("tokens", "ds-token-view", TOKENS)


@cache
def _component(elem_id: str, css_class: str, scripts: tuple[str, ...]) -> PanelAssets:
    constants = [
        f"const STYLE = {json.dumps(TOKENS_SHEET.read_text(encoding='utf-8') + ''.join(map(_read, STYLES)))};",
        f"const FIGURES = {json.dumps([asdict(figure) for figure in FIGURES])};",
    ]
    script = "\n".join([*constants, *(_read(name) for name in (*SHARED, *scripts))])
    return PanelAssets(elem_id, f'<div class="ds-root {css_class}"></div>', "", script)


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
