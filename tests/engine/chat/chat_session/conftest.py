"""A tiny engine, what it answers, and the truth it is compared with."""

from __future__ import annotations

import pytest

from engine.chat import ChatSession
from tests.engine.chat.chat_session.acts import MESSAGES, speculating
from tests.oracle import PlainOracle


@pytest.fixture
def engine(tiny_engine):
    return tiny_engine("llama", max_ctx=512)


@pytest.fixture(scope="module")
def lengths(tiny_engine):
    """What the tiny Llama answers to each message, by itself: (tokens, reason), at most 80 tokens."""
    found = {}
    for message in MESSAGES:
        chat = ChatSession(tiny_engine("llama", max_ctx=512))
        turn = chat.send(message, 80)
        found[message] = (len(turn.tokens), turn.reason)
        chat.session.close()
    return found


@pytest.fixture
def stops(lengths):
    """A message whose answer ends by itself, neither at once nor late."""
    return next(m for m, (count, reason) in lengths.items() if reason == "stop" and 12 <= count <= 60)


@pytest.fixture
def long(lengths):
    """A message whose answer goes on and on."""
    return next(m for m, (_, reason) in lengths.items() if reason == "length")


@pytest.fixture(scope="session")
def oracles():
    return {}


@pytest.fixture
def truth(engine, oracles):
    """True continuations, for a drafter of every acceptance length."""
    return oracles.setdefault(engine, PlainOracle(engine)).continuation


@pytest.fixture
def chat(engine):
    """A conversation with a drafter that is often right, so that rounds emit from one to eight tokens."""
    return speculating(engine)
