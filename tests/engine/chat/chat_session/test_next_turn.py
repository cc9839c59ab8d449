"""Conversations: what the next turn reuses of the caches."""

from __future__ import annotations

import pytest

from engine.burst import generate_spec_session
from engine.events import PrefillEvent, TurnEvent
from tests.engine.chat.chat_session.acts import last, mutated, speculating
from tests.factories import CHATML


def test_the_next_turn_extends_the_caches_by_its_own_tokens_only(chat, stops, long):
    first = chat.send(stops, 60)
    held = chat.session.history
    second = chat.send(long, 10)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused, event.common, event.history) == ("extend", len(held), len(held), len(held))
    assert (event.dropped, event.why, event.ours, event.theirs) == (0, "", "", "")
    assert event.prompt_tokens == second.start
    assert chat.session.history[: len(held)] == held
    prefilled = sum(e.tokens for e in chat.session.trace.of(PrefillEvent) if e.turn == 1)
    assert prefilled == event.prompt_tokens - len(held) + 1, "and the carried stop id"
    assert first.start < len(held) < second.start


@pytest.mark.parametrize(
    "expression", ["content.split('u')[-1]", "content[:-1]"], ids=["strips what came first", "trims the end"]
)
def test_a_template_that_rewrites_answers_rewinds_instead_of_priming(engine, monkeypatch, expression, stops):
    chat = speculating(engine, "You are a helpful assistant.")
    monkeypatch.setattr(engine.tokenizer, "chat_template", mutated(expression))
    first = chat.send(stops, 60)
    points = chat.session.rewind_points()
    assert points[-1] == first.start and len(points) == 2, "before the live header and at the prompt's end"
    second = chat.send("The dog", 20)
    event = last(chat, TurnEvent)
    assert event.decision == "rewind"
    assert event.reused == points[-1] <= event.common < event.history
    assert event.why and event.ours
    assert chat.messages[2]["content"] == first.text, "messages keep the answer whole"
    plain = engine.new_session(drafter="none")
    again = generate_spec_session(plain, chat.session.history[: second.start], 20)
    assert again.tokens[: again.visible] == second.tokens
    plain.close()


def test_a_rewritten_header_rewinds_below_it(engine, monkeypatch, stops):
    """A live header that earlier turns do not have: only the checkpoint before it can be used."""
    template = CHATML.replace("assistant\n", "assistant\nthink: ")
    chat = speculating(engine)
    monkeypatch.setattr(engine.tokenizer, "chat_template", template)
    first = chat.send(stops, 60)
    header = chat.session.rewind_points()[0]
    assert header < first.start
    chat.send("The dog", 5)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused) == ("rewind", header)


def test_without_a_usable_checkpoint_the_prompt_is_primed_and_says_why(chat, engine, monkeypatch, stops):
    chat.send(stops, 60)
    monkeypatch.setattr(engine.tokenizer, "chat_template", "A" + CHATML)
    turn = chat.send("The dog", 12)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused, event.common) == ("prime", 0, 0)
    assert event.ours == "<|im_start|>" and event.theirs == "A" and "No checkpoint" in event.why
    plain = engine.new_session(drafter="none")
    again = generate_spec_session(plain, chat.session.history[: turn.start], 12)
    assert again.tokens[: again.visible] == turn.tokens
    plain.close()
