"""The strings of the two models' views, built like those of the race and the sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playground.race.assets import measuring_view

FOLDER = Path(__file__).parent / "assets"


def now_view() -> dict[str, Any]:
    """Keyword arguments of the `gr.HTML` that shows the running model and a load."""
    return measuring_view("models_now", (FOLDER / "now.js",), "models.css")


def pairs_view() -> dict[str, Any]:
    """Keyword arguments of the `gr.HTML` with the curated pairs."""
    return measuring_view("models_pairs", (FOLDER / "pairs.js",), "models.css")
