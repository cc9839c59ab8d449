"""What several tests of conversations do and look at."""

from __future__ import annotations

import itertools

from engine.chat import ChatSession
from engine.events import PrefillEvent, RoundEvent
from tests.factories import CHATML

WHOLE = 10_000
MESSAGES = [
    "Hi",
    "yy",
    "Hello",
    "zzz",
    "The dog",
    "x",
    "brown?",
    "Hi you",
    "fox",
    "a b c",
    "naïve",
    "1 2 3",
    "Are you?",
]


def mutated(expression: str) -> str:
    """ChatML with earlier answers rewritten by a Jinja expression over `content`."""
    inner = f"(({expression}) if message['role'] == 'assistant' else content)"
    return (
        CHATML.replace("{{", "{% set content = message['content'] %}{{", 1)
        .replace("message['content']", inner, 2)
        .replace(f"set content = {inner}", "set content = message['content']")
    )


def speculating(engine, system: str | None = None, k: int = 7) -> ChatSession:
    chat = ChatSession(engine, system)
    chat.session.set_drafter("ngram", k)
    return chat


def collect(into: list) -> object:
    """An `on_tokens` that keeps every delta."""

    def take(delta):
        into.append(delta)
        return True

    return take


def stop_after(tokens: int) -> object:
    """An `on_tokens` that stops once it has seen so many."""
    seen = 0

    def take(delta):
        nonlocal seen
        seen += len(delta.tokens)
        return seen < tokens

    return take


def refuse_poll(number: int) -> object:
    """An `on_tokens` that says no when called for the `number`th time."""
    calls = itertools.count(1)
    return lambda delta: next(calls) != number


def snapshot(chat: ChatSession) -> tuple:
    session = chat.session
    return (
        chat.messages,
        chat.turn,
        chat.can_continue,
        session.history,
        session.state,
        session.rewind_points(),
        session.telem.to_dict(),
    )


def last(chat: ChatSession, kind: type):
    return chat.session.trace.of(kind)[-1]


def forwards(chat: ChatSession) -> int:
    return len(chat.session.trace.of(RoundEvent)) + len(chat.session.trace.of(PrefillEvent))
