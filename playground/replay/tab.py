"""The replay's tab, and the two places of the page where a replay is shown: a bar on top, and the talk beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from playground.replay.assets import place_options, replay_view
from playground.replay.desk import Desk
from playground.replay.replays import Replays

if TYPE_CHECKING:
    from playground.service import Service

QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}


def replay_bar() -> gr.HTML:
    """Where the banner and the scrubber appear: above everything that a replay is shown in."""
    return gr.HTML("", **place_options("replay_bar"))


def replay_talk() -> gr.HTML:
    """Where the answers of the trace appear in place of the chat."""
    return gr.HTML("", **place_options("replay_talk"))


class ReplayTab:
    """Makes `gr.Tab("Replay")` where it is constructed, inside `gr.Tabs`; `wire` connects it to a page.

    Needs no engine: a trace brings along the texts of its tokens.
    """

    def __init__(self, service: Service, replays: Replays) -> None:
        desk = Desk(service.registry, replays)

        def replay(data: object) -> str:  # Gradio marks server functions, and an object takes no mark
            return desk(data)

        with gr.Tab("Replay", elem_id="replay"):
            self.view = gr.HTML("", **replay_view(), server_functions=[replay])

    def wire(self, sid: gr.Textbox, opened: Any) -> None:
        """Connect to a page. `sid` holds the visitor's session id, `opened` is the event after which it does."""
        opened.then(lambda name: name, [sid], [self.view], **QUICK)
