"""Step mode in the page: the pace of a turn, and the button that goes on."""

from __future__ import annotations

from typing import Any

import gradio as gr

from playground.limits import Refused
from playground.service import Service
from playground.stepping import PACES

PACE_LABELS = {"run": "Run on", "round": "Round by round", "stage": "Stage by stage"}


class StepControls:
    """One closed panel; what a waiting turn says stands in the status line."""

    def __init__(self, service: Service) -> None:
        self._service = service
        with gr.Accordion("Step through a round", open=False, elem_id="stepping"), gr.Row():
            self.pace = gr.Radio(
                [(PACE_LABELS[pace], pace) for pace in PACES],
                value="run",
                label="Pace",
                elem_id="pace",
                min_width=200,
                info="An answer then waits before every round, or before draft, verify, accept and commit.",
            )
            self.step = gr.Button("Step", elem_id="step", scale=0)

    def wire(self, sid: gr.Textbox, opened: Any, refusal: gr.HTML, quick: dict[str, Any]) -> None:
        """Connect the controls; a turn that waits shows itself in the status line. `opened` is the event after which
        `sid` holds the visitor's session id."""

        def paced(sid: str, pace: object) -> str:
            return self.set(sid, pace)

        def stepped(sid: str) -> str:
            return self.go_on(sid)

        def met(sid: str, pace: object) -> Any:
            return self.meet(sid, pace)

        opened.then(met, [sid, self.pace], [self.pace], **quick)
        self.pace.input(paced, [sid, self.pace], [refusal], **quick)
        self.step.click(stepped, [sid], [refusal], **quick)

    def meet(self, sid: str, pace: object) -> Any:
        """The page has come to a conversation: a new one takes the page's pace, any other keeps and shows its own."""
        try:
            conversation = self._service.registry.get(sid)
        except Refused:
            return gr.skip()
        if conversation.options is None and pace in PACES:
            conversation.stepping.set_pace(pace)
        return conversation.stepping.pace

    def set(self, sid: str, pace: object) -> str:
        """Change the pace. Returns a refusal, or ''."""
        try:
            stepping = self._service.registry.get(sid).stepping
        except Refused as refused:
            return str(refused)
        if pace not in PACES:
            return "Choose one of the paces that are offered."
        stepping.set_pace(pace)
        return ""

    def go_on(self, sid: str) -> str:
        """Let a waiting turn go to its next stop. Returns a refusal, or ''."""
        try:
            self._service.registry.get(sid).stepping.step()
        except Refused as refused:
            return str(refused)
        return ""
