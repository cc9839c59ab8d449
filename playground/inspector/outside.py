"""A token that no round emitted, in sentences: the first of an answer, and predictions that became tokens."""

from __future__ import annotations

from typing import Any

from engine import events as ev
from playground.inspector.find import Cause, Outside
from playground.step_words import LEVELS, Level

SAYS: dict[Cause, dict[Level, str]] = {
    "prompt": {
        "engineer": "First token of the turn: chosen from the prompt’s last row, by the prefill itself.",
        "student": "The first token of this answer: having read the message, the model already knew it.",
    },
    "again": {
        "engineer": "First token of the turn: from the logits kept at the rewind point, without a forward.",
        "student": "The first token of this answer: the model had read the message before and remembered what follows.",
    },
    "flush": {
        "engineer": "A prediction after a flush: the forward that gave the carried token its row also said this.",
        "student": "Known beforehand: as the last token of the part before was put away, the model said what follows.",
    },
    "trim": {
        "engineer": "A stored prediction: the round before had computed it past the budget and let it go.",
        "student": "Known beforehand: the round before had found it, and there was no room to show it.",
    },
    "prediction": {
        "engineer": "A stored prediction, promoted: what follows the last row was known without a forward.",
        "student": "Known beforehand: the model had already said what follows.",
    },
}
TITLES: dict[Cause, str] = {
    "prompt": "first token of the turn",
    "again": "first token of the turn",
    "flush": "prediction after a flush",
    "trim": "stored prediction",
    "prediction": "stored prediction",
}


def outside_detail(found: Outside) -> dict[str, Any]:
    """JSON-ready. No round tested it, so there is nothing to compare."""
    event, draw = found.event, found.draw
    pos = event.pos + event.tokens if isinstance(event, ev.PrefillEvent) else event.pos
    return {
        "origin": TITLES[found.cause],
        "pos": pos,
        "mode": "greedy" if draw is None else draw.mode,
        "says": {level: SAYS[found.cause][level] + _drawn(draw, level) for level in LEVELS},
    }


def _drawn(draw: ev.DrawEvent | None, level: Level) -> str:
    if draw is None:
        return ""
    return f" Drawn with value {draw.sctr} ({draw.mode})." if level == "engineer" else " It was drawn by chance."
