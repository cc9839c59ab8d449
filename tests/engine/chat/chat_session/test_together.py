"""Conversations: clearing, random conversations, and the default checkpoint."""

from __future__ import annotations

import random

import pytest

from engine.chat import ChatSession
from engine.chat.detokenize import Detokenizer
from engine.errors import SessionStateError
from engine.events import TurnEvent
from tests.engine.chat.chat_session.acts import WHOLE, collect, last, refuse_poll, speculating, stop_after
from tests.scripts import GarbageDrafter


def test_clear_keeps_the_system_message_only(engine, long):
    chat = speculating(engine, "You are a helpful assistant.")
    first = chat.send(long, 20)
    rounds = chat.session.telem.rounds
    chat.clear()
    assert chat.messages == [{"role": "system", "content": "You are a helpful assistant."}]
    assert (chat.turn, chat.can_continue, chat.session.history, chat.session.state) == (None, False, [], "FRESH")
    with pytest.raises(SessionStateError, match="call send"):
        chat.continue_turn()
    again = chat.send(long, 20)
    assert (again.tokens, again.text) == (first.tokens, first.text)
    assert chat.session.telem.rounds > rounds, "counters live on"


@pytest.mark.parametrize("seed", range(6))
def test_a_random_conversation_equals_the_plain_one(engine, truth, seed, stops, long):
    """Bursts, K, drafters, trimming, stops and refused polls change from call to call; messages never differ."""
    rng = random.Random(seed)
    plain, chat = ChatSession(engine), ChatSession(engine)
    for step in range(9):
        drafter = rng.choice(["none", "ngram", GarbageDrafter(331, seed=step, right=0.9, truth=truth)])
        chat.session.set_drafter(drafter, rng.randint(0, 7))
        most, burst, mode = rng.randint(1, 24), rng.choice([1, 2, 5, 32]), rng.choice(["keep", "trim"])
        if chat.can_continue and rng.random() < 0.5:
            got = chat.continue_turn(most, burst=burst, on_tokens=stop_after(rng.randint(1, 30)), overshoot=mode)
            want = plain.continue_turn(len(got.tokens), burst=WHOLE)
        else:
            text = rng.choice([stops, long, "The dog", "naïve 🙂", "x"])
            chat.send(text, most, burst=burst, on_tokens=refuse_poll(rng.choice([1, 2])))
            got = chat.send(text, most, burst=burst, on_tokens=stop_after(rng.randint(1, 30)), overshoot=mode)
            want = plain.send(text, len(got.tokens), burst=WHOLE)
        assert (got.tokens, got.text) == (want.tokens, want.text)
        assert (got.reason == "stop") == (want.reason == "stop")
        assert chat.messages == plain.messages
        assert chat.can_continue == plain.can_continue


@pytest.mark.slow
def test_two_turns_with_the_default_checkpoint(default_engine):
    tokenizer = default_engine.tokenizer
    chat, deltas = ChatSession(default_engine), []
    first = chat.send("What is the capital of France?", 40, burst=8, on_tokens=collect(deltas))
    assert "Paris" in first.text and first.reason == "stop"
    assert "".join(d.text for d in deltas) == first.text == tokenizer.decode(first.tokens, skip_special_tokens=True)
    second = chat.send("Repeat that, twice.", 24, burst=8)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused) == ("extend", event.history)
    prompt = chat.session.history[: second.start]
    assert prompt == tokenizer.apply_chat_template(chat.messages[:3], add_generation_prompt=True, return_dict=False)
    chat.session.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["naïve 🙂👩\u200d👩\u200d👧 日本語 e\u0301", "  two  spaces\n\ttab 2024 🇫🇷", "\ufffd ok"]
)
def test_the_default_tokenizer_streams_unicode(default_engine, text):
    tokenizer = default_engine.tokenizer
    ids = tokenizer.encode(text, add_special_tokens=False)
    stream = Detokenizer(tokenizer, default_engine.stop_ids)
    shown = [stream.push([i]) for i in ids]
    assert "".join(shown) == text
    assert "\ufffd" in text or not any("\ufffd" in piece for piece in shown)


@pytest.mark.slow
def test_the_default_checkpoint_continues_what_was_stopped(default_engine):
    whole = ChatSession(default_engine)
    want = whole.send("Count from one to twenty in words.", 40)
    chat = ChatSession(default_engine)
    turn = chat.send("Count from one to twenty in words.", 40, burst=5, on_tokens=stop_after(9))
    rest = chat.continue_turn(40 - len(turn.tokens))
    assert turn.text + rest.text == want.text == chat.messages[-1]["content"]
    for one in (whole, chat):
        one.session.close()
