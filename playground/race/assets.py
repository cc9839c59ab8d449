"""The strings of a measuring view: one empty element, one script joined of small ones, one style sheet.

As for the panels: Gradio compiles a component's templates anew with every value, so they hold nothing; the script
builds the view once and puts the style sheet into the document.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "assets"
SHARED_SCRIPT = FOLDER / "measuring.js"
SHARED_STYLE = FOLDER / "measuring.css"


def race_view() -> dict[str, Any]:
    """Keyword arguments of the race's `gr.HTML`; its server functions come on top."""
    return measuring_view("race_view", (FOLDER / "lanes.js", FOLDER / "outcome.js", FOLDER / "race.js"), "race.css")


def measuring_view(elem_id: str, scripts: tuple[Path, ...], style: str) -> dict[str, Any]:
    """Keyword arguments of a `gr.HTML` made of `scripts` in their order; `style` lies beside them."""
    return {
        "elem_id": elem_id,
        "html_template": f'<div class="dm-root" data-view="{elem_id}"></div>',
        "css_template": "",
        "js_on_load": _joined(elem_id, scripts, style),
        "apply_default_css": False,
        "container": False,
        "padding": False,
    }


@cache
def _joined(elem_id: str, scripts: tuple[Path, ...], style: str) -> str:
    css = SHARED_STYLE.read_text(encoding="utf-8") + (scripts[0].parent / style).read_text(encoding="utf-8")
    constants = f"const VIEW = {json.dumps(elem_id)}, STYLE = {json.dumps(css)};"
    return "\n".join([constants, *(path.read_text(encoding="utf-8") for path in (SHARED_SCRIPT, *scripts))])
