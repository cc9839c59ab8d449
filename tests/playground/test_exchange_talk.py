"""The answers of a trace as text: what the chat showed, in the order in which it was made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine import events as ev
from engine.chat import ChatSession
from playground.exchange import export_trace, import_trace
from playground.exchange.replay import record
from playground.exchange.replay_feed import ReplayFeed
from playground.exchange.replay_talk import ReplayTalk
from tests.playground.fakes import FakeChat, FakeEngine
from tests.playground.synthetic import SyntheticSession


def number(token: int) -> str:
    return f" {token}"


def talk_of(events: Any) -> list[list[Any]]:
    talk = ReplayTalk()
    for event in events:
        talk.take(event)
    return talk.wire(number)


def test_answers_are_those_of_the_chat() -> None:
    chat = FakeChat(FakeEngine(answer=30))
    for _ in range(3):
        chat.send("hello", max_new=100, on_tokens=lambda delta: True)
    feed = ReplayFeed("r", record(import_trace(export_trace(chat.session.trace, chat.engine.tokenizer))))
    feed.seek(10**6)
    answers = [message["content"] for message in chat.messages if message["role"] == "assistant"]
    assert [line[2] for line in feed.talk()] == answers and all(answers)
    assert [line[0] for line in feed.talk()] == [1, 2, 3]
    chat.clear()
    chat.send("again", max_new=100, on_tokens=lambda delta: True)
    lines = talk_of(chat.session.trace)
    assert [line[0] for line in lines] == [1], "a clear turns the page, and turns count anew"


def test_a_real_chat_with_everything_a_visitor_can_do(tiny_engine: Any) -> None:
    engine = tiny_engine("llama", max_ctx=512)
    chat = ChatSession(engine)
    chat.session.set_drafter("ngram", 5)
    texts: list[str] = []
    for step in (lambda: chat.send("one two three", max_new=9), lambda: chat.regenerate(max_new=7)):
        texts.append(_visible(step()))
    texts.append(_visible(chat.send("again and again", max_new=8, burst=3)) + _visible(chat.continue_turn(max_new=5)))
    talk = talk_of(chat.session.trace)
    assert [line[2] for line in talk] == texts, "an answer that was taken back stays: it was made"
    chat.rewind(chat.session.rewind_points()[0])
    cut = talk_of(chat.session.trace)
    assert len(cut) == 3 and len(cut[-1][2]) < len(talk[-1][2]), "while the rewind is shown, so is its cut"
    chat.session.close()


def _visible(turn: Any) -> str:
    shown = turn.tokens[:-1] if turn.reason == "stop" else turn.tokens
    return "".join(map(number, shown))


def test_a_turn_stopped_in_its_prefill_never_was_and_overshoot_is_not_shown() -> None:
    session = SyntheticSession(1)
    session.turn()
    session.round()
    emitted = session.round()
    session.end_burst(min(2, emitted - 1))
    before = talk_of(session.trace)
    assert before[0][2] == "".join(map(number, session.visible))
    assert session.hidden_count == 0 or f"{session.hidden_count} tokens past the budget" in before[0][3]
    session.cancelled_turn()
    after = talk_of(session.trace)
    assert len(after) == 1 and after[0][2] == "".join(map(number, session.visible))


def test_a_stop_token_is_not_text_but_what_a_stop_string_left_is() -> None:
    common: dict[str, Any] = {"turn": 0, "burst": 0}
    opening = [
        ev.TurnEvent(turn=0, decision="extend", prompt_tokens=3, reused=0, common=0, history=0),
        ev.PrefillEvent(**common, pos=0, tokens=3, width=3, ms=1.0, first=7),
        ev.RoundEvent(**common, round=0, pos=3, pending=7, drafted=(8, 9), accepted=2, bonus=2, emitted=3, width=8,
                      drafter="ngram", draft_ms=0, verify_ms=0, accept_ms=0, host_ms=0),
    ]  # fmt: skip
    end = ev.BurstEvent(
        **common, max_new=9, emitted=4, visible=4, overshoot=0, reason="stop", ms=1.0, committed=6, state="PENDING"
    )
    assert talk_of([*opening, end])[0][2] == " 7 8 9"
    back = ev.RewindEvent(turn=0, start=6, to=5, cause="stop", retained=())
    assert talk_of([*opening, back, end])[0][2] == " 7 8"
    drop = ev.PendingEvent(turn=0, burst=1, transition="drop", via="rewind", state="FRESH", token=2, pos=6)
    away = ev.RewindEvent(turn=0, start=6, to=3, cause="checkpoint", retained=())
    again = replace(opening[0], turn=1)
    assert talk_of([*opening, end, drop, away, again])[0][2] == " 7 8 9", "the carried stop token was let go first"
