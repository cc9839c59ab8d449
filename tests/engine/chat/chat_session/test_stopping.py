"""Conversations: stopping an answer, and continuing it."""

from __future__ import annotations

import pytest

from engine.chat import ChatSession
from tests.engine.chat.chat_session.acts import mutated, refuse_poll, snapshot, speculating, stop_after
from tests.scripts import GarbageDrafter


@pytest.mark.parametrize("overshoot", ["keep", "trim"])
def test_stopping_and_continuing_gives_the_uninterrupted_text(engine, truth, overshoot, stops, long):
    whole = ChatSession(engine).send(long, 40)
    for after in (1, 2, 9, 17):
        chat = ChatSession(engine)
        chat.session.set_drafter(GarbageDrafter(331, seed=after, truth=truth), 7)
        turn = chat.send(long, 40, burst=6, on_tokens=stop_after(after), overshoot=overshoot)
        assert turn.reason == "cancelled"
        assert after <= len(turn.tokens) < after + 8, "it stops at the round edge"
        assert chat.can_continue
        rest = chat.continue_turn(40 - len(turn.tokens), burst=6)
        assert turn.tokens + rest.tokens == whole.tokens
        assert chat.messages[-1]["content"] == turn.text + rest.text == whole.text


def test_a_turn_stopped_before_its_first_token_leaves_nothing(chat, engine, long, monkeypatch):
    """Before any forward, at the burst's entry, and between the chunks of a prefill."""
    monkeypatch.setattr(engine, "prefill_chunk", 32)  # so that the message takes several
    chat.send(long, 20)
    before = snapshot(chat)
    message = "The quick brown fox. " * 12
    for poll in (1, 2, 3, 4):
        turn = chat.send(message, 10, on_tokens=refuse_poll(poll))
        assert (turn.reason, turn.tokens, turn.text) == ("cancelled", [], "")
        assert chat.turn.tokens == before[1].tokens
        assert chat.messages == before[0]
        assert chat.session.history[: len(before[3])][: len(chat.session.history)] == chat.session.history
        assert chat.can_continue
    fresh = ChatSession(engine)
    fresh.send(long, 20)
    assert chat.send(message, 10).tokens == fresh.send(message, 10).tokens
    assert chat.messages == fresh.messages


def test_stopping_at_the_first_poll_keeps_the_overshoot(engine, truth, long):
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    turn = chat.send(long, 12)
    before = snapshot(chat)
    chat.send("The dog", 5, on_tokens=refuse_poll(1))
    chat.continue_turn(5, on_tokens=refuse_poll(1))
    assert snapshot(chat) == before
    assert chat.continue_turn(2).tokens == turn.hidden[:2]


def test_an_answer_can_still_be_continued_after_a_message_that_was_stopped(engine, truth, long):
    """The message had dropped the overshoot by then; it is computed again, to the same tokens."""
    whole = ChatSession(engine).send(long, 30)
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    turn = chat.send(long, 12)
    assert turn.hidden
    chat.send("The dog", 5, on_tokens=refuse_poll(2))
    assert chat.turn.hidden == []
    assert chat.session.state == "PREDICTED"
    assert turn.tokens + chat.continue_turn(18).tokens == whole.tokens


def test_a_rewound_prompt_that_was_stopped_cannot_be_continued(engine, monkeypatch, long):
    chat = speculating(engine)
    monkeypatch.setattr(engine.tokenizer, "chat_template", mutated("content[:-1]"))
    chat.send(long, 20)
    assert chat.can_continue
    chat.send("The dog", 5, on_tokens=refuse_poll(2))
    assert not chat.can_continue, "its rows are gone"
    plain = ChatSession(engine)
    plain.send(long, 20)
    assert chat.send("The dog", 9).tokens == plain.send("The dog", 9).tokens
