"""The lists to choose from in the page: user messages to edit, and points to rewind to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr

from playground.text import plain

if TYPE_CHECKING:
    from engine.chat.rewind_targets import RewindTarget

Choices = list[tuple[str, int]]
"""Line and value."""
LABEL_CHARS = 60


def message_choices(questions: Sequence[str]) -> Choices:
    """A line for each user message, and its number."""
    return [(f"{number + 1}. {_short(text)}", number) for number, text in enumerate(questions)]


def point_choices(targets: Sequence[RewindTarget]) -> Choices:
    """A line for each rewind point, and its position."""
    where = {"prompt": "at the end of its prompt", "header": "before the assistant header"}
    return [(f"Message {t.turn + 1}, {where[t.role]}: {t.pos} rows", t.pos) for t in targets]


def choices_update(choices: Choices, *, changed: bool) -> Any:
    """A list that has changed begins without a selection; one that has not is left alone, open or closed."""
    return gr.update(choices=choices, value=None) if changed else gr.skip()


def _short(text: str) -> str:
    # A list is made ten times a second while an answer streams, so only the beginning is read.
    line = " ".join(plain(text.strip()[: 4 * LABEL_CHARS]).split())
    return line if len(line) <= LABEL_CHARS else line[: LABEL_CHARS - 1] + "\u2026"
