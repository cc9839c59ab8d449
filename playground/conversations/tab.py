"""The fold of conversations under the chat: one view that lists, opens, names, moves between branches and deletes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from playground.conversations.desk import Desk
from playground.headers import BODY_LIMIT
from playground.limits import Refused
from playground.race.assets import measuring_view
from playground.race.wire import answer_of, question_of

if TYPE_CHECKING:
    from playground.service import Service

QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
FOLDER = Path(__file__).parent / "assets"
SCRIPTS = tuple(FOLDER / name for name in ("own.js", "files.js", "tree.js", "list.js", "conversations.js"))


class Conversations:
    """Makes the fold where it is constructed, inside a `gr.Blocks`.

    `view.select` fires when another conversation is asked for, with its id as `sid` ('' for a new one); `view.input`
    when another branch of the shown one is.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self.desk = Desk(service)

        def ask(data: object) -> str:  # Gradio marks server functions, and a bound method takes no mark
            return self.ask(data)

        view = measuring_view("conversations", SCRIPTS, "conversations.css")
        self.view = gr.HTML("", **view, server_functions=[ask])

    def news(self, sid: str) -> str:
        """Something of the conversation may have changed: the view's next value."""
        try:
            version = self._service.registry.get(sid).view().version
        except Refused:
            return ""
        return answer_of({"sid": sid, "version": version})

    def ask(self, data: object) -> str:
        """What the view asks, as JSON: an object, with `error` where it cannot be done; '' for an unknown session."""
        asked = question_of(data, self._service.registry, longest=BODY_LIMIT)
        return "" if asked is None else answer_of(self.desk.answer(asked))
