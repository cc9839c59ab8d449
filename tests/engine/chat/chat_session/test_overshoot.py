"""Conversations: what becomes of tokens past the budget."""

from __future__ import annotations

import pytest

from engine.chat import ChatSession
from engine.errors import SessionStateError
from engine.events import OvershootEvent, RoundEvent, TurnEvent
from engine.rewind import drop_overshoot
from tests.engine.chat.chat_session.acts import collect, forwards, last
from tests.factories import CHATML
from tests.scripts import GarbageDrafter


def test_the_next_prompt_does_not_depend_on_k(engine, truth, long):
    prompts, dropped = set(), []
    for k in range(8):
        chat = ChatSession(engine)
        chat.session.set_drafter(GarbageDrafter(331, seed=k, right=0.95, truth=truth), k)
        turn = chat.send(long, 21, burst=5)
        shown = chat.session.history[: turn.start] + turn.tokens
        after = chat.send("The dog", 9, burst=5)
        assert chat.session.history[: len(shown)] == shown
        prompts.add(tuple(chat.session.history[: after.start]))
        event = last(chat, TurnEvent)
        assert (event.decision, event.dropped, event.reused) == ("extend", len(turn.hidden), len(shown))
        dropped.append(event.dropped)
    assert len(prompts) == 1
    assert dropped[0] == 0 and max(dropped) > 0, "some K must have overshot"


def test_the_trace_accounts_for_every_token_past_a_burst(engine, truth, long):
    """What inner bursts emit past their size is shown at once, so `kept` less `shown` is what is hidden."""
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=0.95, truth=truth), 7)
    hidden = []
    for most in range(12, 20):
        turn = chat.send(long, most, burst=3)
        counts = dict.fromkeys(("kept", "shown", "dropped"), 0)
        for event in chat.session.trace.of(OvershootEvent):
            counts[event.action] += len(event.tokens)
        hidden.append(len(turn.hidden))
        assert counts["kept"] - counts["shown"] - counts["dropped"] == len(turn.hidden)
        assert counts["shown"] > 0
    assert any(hidden)


def test_a_template_that_cannot_be_taken_apart_still_extends_past_dropped_overshoot(engine, truth, long, monkeypatch):
    spoils_markers = CHATML.replace("message['content']", "message['content'].replace('answer', '')")
    monkeypatch.setattr(engine.tokenizer, "chat_template", spoils_markers)
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    most = next(n for n in range(12, 40) if chat_cuts_cleanly(engine, long, n, truth))
    turn = chat.send(long, most)
    assert turn.hidden
    chat.send("The dog", 3)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused) == ("extend", turn.start + most)


def chat_cuts_cleanly(engine, message, most, truth) -> bool:
    """Whether an answer of `most` tokens ends with a whole character and in the middle of a round."""
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    turn = chat.send(message, most)
    chat.session.close()
    return bool(turn.hidden) and engine.tokenizer.decode(turn.tokens) == turn.text


def test_continuing_shows_the_overshoot_first_and_for_free(engine, truth, long):
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    want = ChatSession(engine).send(long, 40)
    first = chat.send(long, 12)
    assert len(first.hidden) > 3
    before, deltas = forwards(chat), []
    second = chat.continue_turn(3, on_tokens=collect(deltas))
    assert second.tokens == first.hidden[:3] and second.hidden == first.hidden[3:]
    assert (second.reason, second.start) == ("length", first.start + 12)
    assert forwards(chat) == before, "already computed"
    shown = [e for e in chat.session.trace.of(OvershootEvent) if e.action == "shown"]
    assert shown[-1].tokens == tuple(second.tokens)
    third = chat.continue_turn(25, burst=4)
    assert third.tokens[: len(second.hidden)] == second.hidden
    assert first.tokens + second.tokens + third.tokens == want.tokens
    assert first.origin[1:] + second.origin + third.origin == [o for o in chat_origins(chat) if o != "first"][:39]
    assert chat.messages[-1]["content"] == first.text + second.text + third.text == want.text
    assert len(chat.messages) == 2


def chat_origins(chat: ChatSession) -> list[str]:
    """Origins as the rounds of the trace tell them."""
    out = []
    for event in chat.session.trace.of(RoundEvent):
        out += ["draft"] * event.accepted
        if event.bonus is not None:
            out.append("correction" if event.correction else "bonus")
    return out


@pytest.mark.parametrize("most", [1, 2, 5, 9])
def test_any_cut_of_an_answer_joins_to_the_whole_and_ends_by_its_stop_id(engine, truth, most, stops, long):
    """Stop ids inside hidden overshoot included: they end the answer when they are shown, not before."""
    whole = ChatSession(engine).send(stops, 60)
    for seed in range(3):
        chat = ChatSession(engine)
        chat.session.set_drafter(GarbageDrafter(331, seed=seed, right=0.9, truth=truth), 7)
        turns = [chat.send(stops, most)]
        while chat.can_continue:
            turns.append(chat.continue_turn(most, burst=4))
        assert [t for turn in turns for t in turn.tokens] == whole.tokens
        assert [t.reason for t in turns] == ["length"] * (len(turns) - 1) + ["stop"]
        assert len(turns) == -(-len(whole.tokens) // most)
        assert chat.messages[-1]["content"] == "".join(t.text for t in turns) == whole.text
        chat.send(long, 3)
        assert last(chat, TurnEvent).decision == "extend"


def test_overshoot_whose_round_is_gone_is_dropped_by_comparing_ids(tiny_engine, truth, long):
    """With one slot, another conversation takes the rows; nothing is left to take tokens back with."""
    engine = tiny_engine("llama", max_ctx=512, slots=1)
    texts = []
    for evict in (False, True):
        chat = ChatSession(engine)
        chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
        turn = chat.send(long, 12)
        assert turn.hidden
        if evict:
            ChatSession(engine).send("Other", 3)
            chat.session.reprime()
            with pytest.raises(SessionStateError):
                drop_overshoot(chat.session, len(turn.hidden))
        texts.append(chat.send("The dog", 9).text)
        assert last(chat, TurnEvent).dropped == len(turn.hidden)
        assert last(chat, TurnEvent).decision == ("rewind" if evict else "extend")
    assert texts[0] == texts[1]
