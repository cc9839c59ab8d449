"""The page's few keys, and the dialog that lists them. Single keys can be switched off (WCAG 2.1, criterion 2.1.4)."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

KEYS = (
    ("/", "Go to the message box"),
    ("Enter", "Send the message; Shift and Enter together begin a new line"),
    ("Ctrl Enter", "Send the message from anywhere but another box; on a Mac also with ⌘"),
    ("Esc", "Stop the running answer, once nothing is open or pinned that Esc would close"),
    ("← →", "Go to the round before or after the pinned one; in the token view, to the next token"),
    ("?", "Open this list"),
)
"""Keys and what they do, as the dialog lists them; those of a chart or a list stand in its own description."""
SINGLE = ("/", "?")
"""Those that are ordinary characters: they do nothing while a field has the focus, or when switched off."""


def options() -> dict[str, Any]:
    """Keyword arguments for `gr.HTML`: the button that opens the dialog, and the keys."""
    script = (files("playground") / "assets" / "shortcuts.js").read_text(encoding="utf-8")
    return {
        "elem_id": "shortcuts",
        "html_template": '<div class="keys"></div>',
        "js_on_load": f"const KEYS = {json.dumps(KEYS)}, SINGLE = {json.dumps(SINGLE)};\n{script}",
        "apply_default_css": False,
        "container": False,
        "padding": False,
    }
