"""A conversation taken up again: in a fresh session, on another branch, and without the ids of its answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.chat import ChatSession
from engine.chat.transcript import Transcript
from engine.events import TurnEvent


@pytest.fixture
def engine(tiny_engine):
    return tiny_engine("llama", max_ctx=512)


def decision(chat: ChatSession) -> TurnEvent:
    return chat.session.trace.of(TurnEvent)[-1]


def test_a_restored_conversation_goes_on_as_the_original(engine):
    first = ChatSession(engine, system="Be brief")
    first.send("The quick brown fox", 20)
    first.send("a b c", 20)
    again = ChatSession(engine)
    again.restore(first.transcript)
    assert again.messages == first.messages and not again.can_continue
    want, got = first.send("And then?", 30), again.send("And then?", 30)
    assert (got.text, got.tokens) == (want.text, want.tokens)
    assert again.session.history == first.session.history
    assert decision(again).reused == 0


def test_another_branch_keeps_the_rows_it_shares(engine):
    chat = ChatSession(engine)
    chat.send("The quick brown fox", 20)
    chat.send("a b c", 20)
    there = chat.transcript
    chat.edit(1, "x y z", 20)
    here, points = chat.transcript, [target.pos for target in chat.rewind_targets]
    chat.restore(there)
    assert chat.messages[-2]["content"] == "a b c"
    assert {target.turn for target in chat.rewind_targets} == {0}, "the second message is another one there"
    chat.send("Go on", 20)
    assert decision(chat).decision == "rewind" and decision(chat).reused > 0
    chat.restore(here)
    fresh = ChatSession(engine)
    fresh.restore(here)
    assert chat.send("Go on", 20).tokens == fresh.send("Go on", 20).tokens
    assert points


def test_rewinding_after_a_switch_follows_the_branch_that_is_shown(engine):
    chat = ChatSession(engine)
    chat.send("The quick brown fox", 12)
    there = chat.transcript
    chat.edit(0, "Another beginning", 12)
    chat.restore(there)
    for target in chat.rewind_targets:
        chat.rewind(target.pos)
        assert chat.messages[-1] == {"role": "user", "content": "The quick brown fox"}


def test_answers_without_ids_are_read_as_text(engine):
    first = ChatSession(engine)
    first.send("The quick brown fox", 12)
    exchange = first.transcript.exchanges[0]
    assert exchange.answer is not None and exchange.answer.text
    told = Transcript(exchanges=(replace(exchange, answer=replace(exchange.answer, ids=(), rest="")),))
    chat = ChatSession(engine)
    chat.restore(told)
    turn = chat.send("a b c", 12)
    assert chat.messages[1]["content"] == exchange.answer.text and turn.tokens
    assert exchange.answer.text in engine.tokenizer.decode(chat.session.committed)
