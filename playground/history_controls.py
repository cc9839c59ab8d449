"""Going back: edit an earlier message, or branch at a point that the session retains. What was said stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from playground.handlers import Handlers


class HistoryControls:
    """One closed panel under the chat; its lists follow the conversation."""

    def __init__(self) -> None:
        with gr.Accordion("Go back", open=False, elem_id="history") as self.fold:
            with gr.Row():
                self.number = gr.Dropdown(
                    [],
                    label="Edit a message",
                    elem_id="edit_which",
                    min_width=160,
                    info="What came after it stays as a branch.",
                )
                self.text = gr.Textbox(
                    label="New text",
                    lines=1,
                    max_lines=6,
                    elem_id="edit_text",
                    min_width=160,
                    info="It is answered at once.",
                )
                self.edit = gr.Button("Edit", size="sm", elem_id="edit", scale=0, interactive=False)
            with gr.Row():
                self.point = gr.Dropdown(
                    [],
                    label="Rewind to a point",
                    elem_id="rewind_point",
                    min_width=160,
                    info="Continue then answers again, a new message replaces the last; "
                    "the path of now stays as a branch.",
                )
                self.rewind = gr.Button("Branch here", size="sm", elem_id="rewind", scale=0, interactive=False)

    @property
    def buttons(self) -> list[Any]:
        """In the order of `permits.BUTTONS`, where they come last."""
        return [self.edit, self.rewind]

    @property
    def lists(self) -> list[Any]:
        """In the order of `permits.Lists`."""
        return [self.number, self.point]

    def wire(
        self, do: Handlers, sid: gr.Textbox, options: Sequence[Any], refusal: gr.HTML, quick: dict[str, Any]
    ) -> list[Any]:
        """Connect the controls; returns the events after which the conversation is shown anew."""
        # Not `input`, which fires twice: the later answer would overwrite what is typed in between.
        self.number.select(do.load_message, [self.number, sid], [self.text], **quick)
        return [
            self.edit.click(do.edit, [self.number, self.text, sid, *options], [self.text, refusal], **quick),
            self.rewind.click(do.rewind, [self.point, sid], [refusal], **quick),
        ]
