"""One page, two readings: for an engineer and for a student. The same facts, in other words.

What is worded on the server asks the conversation; what is drawn in the browser has both wordings and shows the one
that `data-level` on the document's body names. A reader's choice is kept in the browser.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from playground.limits import Refused
from playground.service import Service
from playground.step_words import LEVELS

LEVEL_LABELS = {"engineer": "Engineer", "student": "Student"}
KEPT = """
() => {
  let kept = "";
  try { kept = window.localStorage.getItem("draftscope.level"); } catch (blocked) { /* a frame without storage */ }
  const level = ["engineer", "student"].includes(kept) ? kept : "engineer";
  document.body.dataset.level = level;
  return level;
}
"""
SHOW = """
(level) => {
  document.body.dataset.level = level;
  try { window.localStorage.setItem("draftscope.level", level); } catch (blocked) { /* then a reload forgets it */ }
}
"""


class ReadingLevel:
    """The toggle; made where it is constructed."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.level = gr.Radio(
            [(LEVEL_LABELS[level], level) for level in LEVELS],
            value="engineer",
            label="Read as",
            elem_id="level",
            container=False,
            scale=0,
        )

    def wire(self, page: gr.Blocks, sid: gr.Textbox, opened: Any, quick: dict[str, Any]) -> None:
        """Connect the toggle. `opened` is the event after which `sid` holds the visitor's session id."""

        def set_level(sid: str, level: object) -> None:
            self.set(sid, level)

        page.load(None, None, [self.level], js=KEPT, **quick)
        self.level.input(None, [self.level], None, js=SHOW, **quick)
        self.level.input(set_level, [sid, self.level], None, **quick)
        opened.then(set_level, [sid, self.level], None, **quick)

    def set(self, sid: str, level: object) -> None:
        """Choose the words of a conversation; what is not known is left as it is."""
        try:
            stepping = self._service.registry.get(sid).stepping
        except Refused:
            return
        if level in LEVELS:
            stepping.set_level(level)
