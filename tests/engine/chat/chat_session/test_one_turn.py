"""Conversations: one turn, its deltas and its end."""

from __future__ import annotations

import pytest

from engine.chat import ChatSession
from engine.chat.answer_text import AnswerText
from engine.chat.detokenize import Detokenizer
from engine.chat.turn import TurnRun
from engine.chat.turn_settings import TurnSettings
from engine.errors import SessionStateError
from engine.events import BurstEvent, OvershootEvent
from tests.engine.chat.chat_session.acts import WHOLE, collect
from tests.scripts import GarbageDrafter


def test_a_turn_shows_decoded_ids_as_deltas_of_whole_characters(chat, engine, long):
    deltas = []
    turn = chat.send(long, 60, burst=7, on_tokens=collect(deltas))
    decoded = engine.tokenizer.decode(turn.tokens, skip_special_tokens=True)
    assert turn.reason == "length"
    assert len(turn.tokens) == len(turn.origin) == 60
    assert turn.text == decoded or decoded == turn.text + "\ufffd", "all but a character that is not complete yet"
    assert "".join(d.text for d in deltas) == turn.text
    assert [t for d in deltas for t in d.tokens] == turn.tokens
    assert [o for d in deltas for o in d.origin] == turn.origin
    assert turn.origin[0] == "first"
    assert {"draft", "bonus", "correction"} < set(turn.origin)
    assert deltas[0].tokens == [] and deltas[0].text == "", "asked before any forward"
    assert chat.messages == [{"role": "user", "content": long}, {"role": "assistant", "content": turn.text}]
    assert chat.turn is turn
    assert chat.session.history[turn.start :] == turn.tokens + turn.hidden
    assert turn.telem.emitted == len(turn.tokens) + len(turn.hidden) - 1


@pytest.mark.parametrize("overshoot", ["keep", "trim"])
@pytest.mark.parametrize("burst", [1, 3, 7, WHOLE])
@pytest.mark.parametrize("k", [1, 4, 7])
def test_text_does_not_depend_on_bursts_drafts_or_trimming(engine, truth, burst, k, overshoot, stops, long):
    plain = ChatSession(engine)
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, seed=k, truth=truth), k)
    for text, most in ((long, 33), (stops, 40), ("The dog", 5)):
        want = plain.send(text, most, burst=WHOLE)
        got = chat.send(text, most, burst=burst, overshoot=overshoot)
        assert (got.text, got.tokens, got.reason, got.start) == (want.text, want.tokens, want.reason, want.start)
        assert overshoot == "keep" or got.hidden == []
    assert chat.messages == plain.messages


def test_a_stop_id_is_counted_but_not_shown(chat, engine, stops):
    turn = chat.send(stops, 60)
    assert turn.reason == "stop"
    assert turn.tokens[-1] in engine.stop_ids
    assert turn.text == engine.tokenizer.decode(turn.tokens[:-1])
    assert turn.hidden == []
    assert not chat.can_continue
    with pytest.raises(SessionStateError, match="call send"):
        chat.continue_turn()


def test_trimming_wastes_nothing_at_inner_edges(engine, truth, long):
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    chat.send(long, 48, burst=3, overshoot="trim")
    trims = [e for e in chat.session.trace.of(OvershootEvent) if e.action == "trimmed"]
    assert len(trims) <= 1
    bursts = chat.session.trace.of(BurstEvent)
    assert bursts[-1].overshoot == 0
    assert len(bursts) >= 4, "the burst size counts up to the last of them"


def test_a_half_character_before_a_stop_id_is_shown_at_the_end(engine):
    """As U+FFFD, like `decode`; nothing can complete it any more. Before that it is held."""
    half = engine.tokenizer.encode("🙂", add_special_tokens=False)[0]
    for tail, text in (([], ""), (sorted(engine.stop_ids)[:1], "\ufffd")):
        deltas = []
        session = engine.new_session()
        settings = TurnSettings(1 + len(tail), 8, on_tokens=collect(deltas))
        run = TurnRun(session, AnswerText(Detokenizer(engine.tokenizer)), settings, 0)
        run.resume([half, *tail], ["draft", "bonus"][: 1 + len(tail)])
        run.run((), None, None)
        assert run.text == "".join(d.text for d in deltas) == text
        session.close()
