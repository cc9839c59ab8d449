"""Named endpoints for scripts: the page's conversations without the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

import gradio as gr

from engine.errors import EngineError
from playground.conversation import Conversation
from playground.endpoint_options import OWN, takes_options
from playground.exchange.trace_private import without_secrets
from playground.handlers import default_options
from playground.limits import Refused, TurnOptions, check_message, check_options, check_position
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

    @takes_options()
    def chat(self, message: str, session_id: str = "", **given: Any) -> dict[str, Any]:
        """Send a message and wait for the whole answer. An empty session_id begins a new session; without drafter,
        draft_len or system the session keeps its own. After a rewind the message replaces the last one. Temperature 0
        is greedy; without a seed the session draws one."""

        def run() -> dict[str, Any]:
            text = check_message(message)
            conversation = self._service.registry.open(session_id)
            return _answer(conversation, conversation.send(text, self._options(conversation, given)))

        return _spoken(run)

    @takes_options(but=OWN)
    def continue_turn(self, session_id: str, **given: Any) -> dict[str, Any]:
        """Go on with an answer that ended by length or by Stop, and wait for the rest. After a rewind, begin it."""

        def run() -> dict[str, Any]:
            conversation = self._service.registry.get(session_id)
            return _answer(conversation, conversation.continue_turn(self._options(conversation, given)))

        return _spoken(run)

    @takes_options(but=OWN)
    def regenerate(self, session_id: str, **given: Any) -> dict[str, Any]:
        """Answer the last message again, in place of its answer, and wait for the whole of it."""

        def run() -> dict[str, Any]:
            conversation = self._service.registry.get(session_id)
            return _answer(conversation, conversation.regenerate(self._options(conversation, given)))

        return _spoken(run)

    @takes_options(but=OWN)
    def edit(self, session_id: str, turn: int, message: str, **given: Any) -> dict[str, Any]:
        """Replace user message number `turn`, counted from 0, drop what came after it, and wait for its answer."""

        def run() -> dict[str, Any]:
            text = check_message(message)
            conversation = self._service.registry.get(session_id)
            return _answer(conversation, conversation.edit(turn, text, self._options(conversation, given)))

        return _spoken(run)

    def rewind(self, session_id: str, pos: int) -> dict[str, Any]:
        """Go back to one of the session's rewind points; the answer after it leaves the conversation."""

        def run() -> dict[str, Any]:
            conversation = self._service.registry.get(session_id)
            at = conversation.rewind(check_position(pos)).result()
            said = [{"role": role, "content": text} for role, text in conversation.view().messages]
            return {"session": conversation.sid, "pos": at, "messages": said}

        return _spoken(run)

    def check(self, session_id: str) -> dict[str, Any]:
        """Compare the session's answers with plain decoding and wait for the outcome: a `check` event."""

        def run() -> dict[str, Any]:
            return self._service.registry.get(session_id).check().result().to_dict()

        return _spoken(run)

    def trace(self, session_id: str) -> list[dict[str, Any]]:
        """The session's events in order, without paths and keys; [] before its first turn."""

        def run() -> list[dict[str, Any]]:
            trace = self._service.registry.get(session_id).trace
            return [] if trace is None else [without_secrets(event).to_dict() for event in trace]

        return _spoken(run)

    def bind(self) -> None:
        """Publish the endpoints; called inside a `gr.Blocks`."""
        for name in ("chat", "continue_turn", "regenerate", "edit", "rewind", "check", "trace"):
            gr.api(getattr(self, name), api_name=name, concurrency_limit=CONCURRENT)

    def _options(self, conversation: Conversation, given: Mapping[str, object]) -> TurnOptions:
        """The settings of a call; what is not given is the session's own."""
        own = conversation.options or default_options(self._service)
        mine = {name: getattr(own, name) if given.get(name) is None else given[name] for name in OWN}
        stop = () if given["stop"] is None else given["stop"]
        return check_options(settings=self._service.settings, **{**given, **mine, "stop": stop})


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
