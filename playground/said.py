"""What a page shows of a conversation while a call on it runs: its messages with an answer still to come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.view import Message

if TYPE_CHECKING:
    from engine.chat import ChatSession

Messages = tuple[Message, ...]
COMING: Message = ("assistant", "")


def on_page(chat: ChatSession | None) -> Messages:
    """What a page shows of a chat at rest: its messages, the system message aside."""
    return () if chat is None else tuple((m["role"], m["content"]) for m in chat.messages if m["role"] != "system")


def answered(messages: Messages) -> Messages:
    """Without a last user message that has no answer: a new one takes its place."""
    return messages[:-1] if messages and messages[-1][0] == "user" else messages


def with_question(messages: Messages, text: str) -> Messages:
    """A new message and its answer to come."""
    return (*answered(messages), ("user", text), COMING)


def resumed(messages: Messages) -> Messages:
    """More of the last answer, or an answer to a message that has none."""
    return (*messages, COMING) if messages and messages[-1][0] == "user" else messages


def again(messages: Messages) -> Messages:
    """Another answer to the last message."""
    return resumed(messages[:-1] if messages and messages[-1][0] == "assistant" else messages)


def edited(messages: Messages, turn: int, text: str) -> Messages:
    """Another user message number `turn`, counted from 0, and nothing after its answer."""
    return (*messages[: 2 * turn], ("user", text), COMING)


def questions(messages: Messages) -> list[str]:
    """The user messages, in order."""
    return [text for role, text in messages if role == "user"]
