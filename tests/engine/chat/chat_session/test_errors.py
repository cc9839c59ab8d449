"""Conversations: what errors, refusals and the end of the context leave behind."""

from __future__ import annotations

import pytest

from engine.chat import ChatSession
from engine.errors import ContextFull, EngineError, SessionStateError
from engine.events import TurnEvent
from tests.engine.chat.chat_session.acts import WHOLE, last, snapshot, speculating
from tests.factories import CHATML
from tests.scripts import GarbageDrafter


@pytest.mark.parametrize("where", ["callback", "forward"])
def test_an_error_in_the_middle_of_a_turn_loses_nothing(chat, engine, monkeypatch, where, long):
    whole = ChatSession(engine).send(long, 30)
    seen = []

    def fail(delta):
        seen.extend(delta.tokens)
        if len(seen) > 8:
            if where == "callback":
                raise RuntimeError("the page is gone")
            monkeypatch.setattr(engine.trunk, "forward", broken)
        return True

    def broken(*args, **kwargs):
        raise RuntimeError("the device is gone")

    with pytest.raises(RuntimeError, match="is gone"):
        chat.send(long, 30, burst=5, on_tokens=fail)
    monkeypatch.undo()
    assert seen == chat.turn.tokens == whole.tokens[: len(seen)]
    assert chat.messages[-1]["content"] == chat.turn.text
    assert chat.session.history[chat.turn.start :] == seen + chat.turn.hidden
    rest = chat.continue_turn(30 - len(seen))
    assert seen + rest.tokens == whole.tokens
    assert chat.messages[-1]["content"] == whole.text


def test_an_error_before_the_first_token_keeps_no_message(chat, engine, monkeypatch, stops):
    chat.send(stops, 60)
    before = snapshot(chat)

    def broken(*args, **kwargs):
        raise RuntimeError("the device is gone")

    monkeypatch.setattr(engine.trunk, "forward", broken)
    with pytest.raises(RuntimeError, match="device"):
        chat.send("The dog", 5)
    monkeypatch.undo()
    assert snapshot(chat) == before
    chat.send("The dog", 5)


def test_after_caches_became_doubtful_the_next_turn_primes_them(chat, engine, long):
    plain = ChatSession(engine)
    for one in (chat, plain):
        one.send(long, 20)
    chat.session.failed = True
    assert not chat.can_continue
    assert chat.send("The dog", 9).tokens == plain.send("The dog", 9).tokens
    assert last(chat, TurnEvent).decision == "prime"
    assert "trusted" in last(chat, TurnEvent).why


def test_bad_requests_get_a_sentence_and_change_nothing(chat, long):
    chat.send(long, 20)
    before = snapshot(chat)
    for text in ("", "  \n"):
        with pytest.raises(EngineError, match="empty"):
            chat.send(text)
    for bad in ({"max_new": 0}, {"max_new": True}, {"burst": 0}, {"burst": 2.5}):
        with pytest.raises(EngineError, match="at least 1"):
            chat.send("Hello", **bad)
        with pytest.raises(EngineError, match="at least 1"):
            chat.continue_turn(**bad)
    for call in (lambda: chat.send("Hello", overshoot="lose"), lambda: chat.continue_turn(overshoot="lose")):
        with pytest.raises(EngineError, match="overshoot must be 'keep' or 'trim'"):
            call()
    with pytest.raises(EngineError, match="sampling must be SamplingParams"):
        chat.send("Hello", sampling=object())
    with pytest.raises(EngineError, match="verify"):
        chat.send("Hello", verify="hope")
    assert snapshot(chat) == before


def test_a_message_that_does_not_fit_changes_nothing(engine, truth, long):
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    turn = chat.send(long, 12)
    assert turn.hidden
    before = snapshot(chat)
    with pytest.raises(ContextFull, match=r"has \d+ tokens, and the context holds 512; shorten") as caught:
        chat.send("zq" * 400, 5)
    assert caught.value.needed > caught.value.max_ctx == 512
    assert snapshot(chat) == before
    assert chat.continue_turn(2).tokens == turn.hidden[:2]


@pytest.mark.parametrize("burst", [1, 5, WHOLE])
def test_the_context_ending_ends_the_turn_and_then_refuses_messages(tiny_engine, burst, long):
    engine = tiny_engine("llama", max_ctx=64)
    chat = speculating(engine)
    turn = chat.send(long, 200, burst=burst)
    assert turn.reason == "context"
    assert turn.start + len(turn.tokens) == 65, "the last token needs no row"
    assert turn.text == engine.tokenizer.decode(turn.tokens, skip_special_tokens=True)
    assert not chat.can_continue
    with pytest.raises(ContextFull):
        chat.send("Hello")
    chat.clear()
    assert chat.send(long, 5).tokens == turn.tokens[:5]


def test_one_turn_at_a_time(chat, long):
    caught = []

    def meddle(delta):
        for call in (lambda: chat.send("The dog"), chat.continue_turn, chat.clear):
            with pytest.raises(SessionStateError, match="A turn is running") as error:
                call()
            caught.append(error)
        return True

    turn = chat.send(long, 10, on_tokens=meddle)
    assert len(turn.tokens) == 10 and len(caught) >= 9
    assert len(chat.messages) == 2


def test_a_template_that_refuses_a_system_message_says_so(engine, monkeypatch):
    refusing = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHATML
    monkeypatch.setattr(engine.tokenizer, "chat_template", refusing)
    chat = ChatSession(engine, "Be brief.")
    with pytest.raises(EngineError, match="no system role"):
        chat.send("Hello", 3)
    assert chat.session.state == "FRESH"
    assert ChatSession(engine).send("Hello", 3).tokens
