"""Named endpoints for scripts: the page's conversations without the page."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

import gradio as gr

from engine.errors import EngineError
from playground.conversation import Conversation
from playground.handlers import default_options
from playground.limits import Refused, check_message, check_options, check_position
from playground.service import Service

if TYPE_CHECKING:
    from engine.chat import Turn

T = TypeVar("T")
CONCURRENT = 16
"""Calls that may wait for an answer at the same time."""


class Endpoints:
    """Each raises `gr.Error` with one sentence; nothing of a conversation is lost by that."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def chat(
        self,
        message: str,
        session_id: str = "",
        max_new: int = 256,
        drafter: str | None = None,
        draft_len: int | None = None,
        burst: int = 32,
        overshoot: str = "keep",
    ) -> dict[str, Any]:
        """Send a message and wait for the whole answer. An empty session_id begins a new session; without drafter or
        draft_len the session keeps its own."""

        def run() -> dict[str, Any]:
            text = check_message(message)
            conversation = self._service.registry.open(session_id)
            own = conversation.options or default_options(self._service)
            options = check_options(
                max_new,
                own.drafter if drafter is None else drafter,
                own.draft_len if draft_len is None else draft_len,
                burst,
                overshoot,
                settings=self._service.settings,
            )
            return _answer(conversation, conversation.send(text, options))

        return _spoken(run)

    def continue_turn(
        self, session_id: str, max_new: int = 256, burst: int = 32, overshoot: str = "keep"
    ) -> dict[str, Any]:
        """Go on with an answer that ended by length or by Stop, and wait for the rest."""

        def run() -> dict[str, Any]:
            conversation = self._service.registry.get(session_id)
            own = conversation.options or default_options(self._service)
            options = check_options(
                max_new, own.drafter, own.draft_len, burst, overshoot, settings=self._service.settings
            )
            return _answer(conversation, conversation.continue_turn(options))

        return _spoken(run)

    def rewind(self, session_id: str, pos: int) -> dict[str, Any]:
        """Go back to one of the session's rewind points; the answer after it leaves the conversation."""

        def run() -> dict[str, Any]:
            conversation = self._service.registry.get(session_id)
            at = conversation.rewind(check_position(pos)).result()
            said = [{"role": role, "content": text} for role, text in conversation.view().messages]
            return {"session": conversation.sid, "pos": at, "messages": said}

        return _spoken(run)

    def trace(self, session_id: str) -> list[dict[str, Any]]:
        """The session's events in order; [] before its first turn."""

        def run() -> list[dict[str, Any]]:
            chat = self._service.registry.get(session_id).chat
            return [] if chat is None else [event.to_dict() for event in chat.session.trace]

        return _spoken(run)

    def bind(self) -> None:
        """Publish the endpoints; called inside a `gr.Blocks`."""
        for name in ("chat", "continue_turn", "rewind", "trace"):
            gr.api(getattr(self, name), api_name=name, concurrency_limit=CONCURRENT)


def _answer(conversation: Conversation, future: Future[Turn]) -> dict[str, Any]:
    turn = future.result()
    messages = conversation.view().messages
    return {
        "session": conversation.sid,
        "text": turn.text,
        "telemetry": turn.telem.to_dict(),
        "reason": turn.reason,
        "tokens": list(turn.tokens),
        "messages": len(messages),
    }


def _spoken(run: Callable[[], T]) -> T:
    try:
        return run()
    except (Refused, EngineError) as error:
        raise gr.Error(str(error), print_exception=False) from None
