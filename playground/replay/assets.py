"""The strings of the replay's views: one script, which also fills the two places that a replay is shown in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playground.race.assets import measuring_view

FOLDER = Path(__file__).parent / "assets"
SCRIPTS = tuple(FOLDER / name for name in ("upload.js", "stage.js", "bar.js", "talk.js", "card.js", "replay.js"))


def replay_view() -> dict[str, Any]:
    """Keyword arguments of the tab's `gr.HTML`; its server function comes on top."""
    return measuring_view("replay_view", SCRIPTS, "replay.css")


def place_options(elem_id: str) -> dict[str, Any]:
    """Keyword arguments of an empty `gr.HTML` that the script fills."""
    return {
        "elem_id": elem_id,
        "html_template": '<div class="dm-root"></div>',
        "css_template": "",
        "apply_default_css": False,
        "container": False,
        "padding": False,
    }
