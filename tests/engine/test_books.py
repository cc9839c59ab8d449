"""A session that goes on with the books of one that is gone: numbers, figures and random values go on, none repeats."""

from __future__ import annotations

import dataclasses
import itertools
import json

import pytest

import engine.books as books_file
from engine import EngineError, SamplingParams, SessionStateError, check_exact
from engine.books import LOST, Books, take_up
from engine.chat import ChatSession
from engine.events import (
    ContextEvent,
    DrawEvent,
    Event,
    OvershootEvent,
    RewindEvent,
    RoundEvent,
    SamplingEvent,
    TurnEvent,
)
from engine.trace import Trace
from playground.panels.machine import StateMachine
from playground.panels.tokens_model import TokensModel
from tests.chats import chat_with

WARM = SamplingParams(temperature=1.3)
MODES = ("rejection", "coupled")


@pytest.fixture
def engine(tiny_engine):
    return tiny_engine("llama", max_ctx=512)


@pytest.fixture
def model(tiny_checkpoint):
    """A drafter with probabilities, which draws its drafts."""
    return f"model:{tiny_checkpoint('llama')}"


def talked(engine, drafter="ngram", **options) -> ChatSession:
    chat = chat_with(engine, drafter, 4)
    chat.session._seed = 7  # instead of the system's: a talk is the same every time
    chat.send("The quick brown fox", 20, **options)
    chat.send("jumps over a b c", 17, **options)
    return chat


def kept(chat: ChatSession, lost: int = 0) -> Books:
    """The books by way of what a disk can keep; the last `lost` events are not there."""
    lines = list(chat.session.trace.export())
    trace = Trace.load(lines[: len(lines) - lost])
    return Books.read(trace, json.loads(json.dumps(Books.of(chat.session).figures())))


def revived(engine, chat: ChatSession, books: Books, how=take_up) -> ChatSession:
    again = chat_with(engine, chat.session.drafter.name, chat.session.draft_len)
    again.restore(chat.transcript)
    how(again.session, books)
    return again


def used(events: list[Event]) -> list[tuple[int | None, str, int]]:
    """Every random value of a trace as (seed, stream, counter)."""
    out: list[tuple[int | None, str, int]] = []
    seed = None
    for event in events:
        match event:
            case SamplingEvent():
                seed = event.seed
            case DrawEvent():
                out.append((seed, "draw", event.sctr))
            case RoundEvent():
                out += [(seed, "draw", event.sctr + i) for i in range(event.draws)]
                out += [(seed, "test", event.uctr + i) for i in range(len(event.test_u))]
    return out


def test_the_trace_and_the_figures_go_on_without_a_gap_or_a_repeat(engine):
    chat = talked(engine)
    again = revived(engine, chat, kept(chat))
    again.send("and then?", 30)
    session, before = again.session, len(chat.session.trace)
    events = list(session.trace)
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.to_dict() for event in events[:before]] == [event.to_dict() for event in chat.session.trace]
    assert all(a.t <= b.t for a, b in itertools.pairwise(events))
    rounds = session.trace.of(RoundEvent)
    assert [event.round for event in rounds] == list(range(len(rounds))) and rounds[-1].turn == session.turn == 2
    assert session.telem.emitted == sum(event.emitted for event in rounds)
    assert session.telem.rounds == len(rounds) and session.trace.header == engine.new_trace().header
    bursts = [event.burst for event in rounds]
    assert bursts == sorted(bursts) and rounds[-1].burst < session.bursts


def test_it_says_that_the_rows_are_gone_and_that_the_turn_reads_all_afresh(engine):
    chat = talked(engine)
    length = len(chat.session.committed)
    again = revived(engine, chat, kept(chat))
    trace, first = again.session.trace, chat.session.trace.next_seq
    (gone,) = [event for event in trace.since(first) if isinstance(event, ContextEvent)]
    (back,) = [event for event in trace.since(first) if isinstance(event, RewindEvent)]
    assert (gone.action, gone.used) == ("evicted", length)
    assert (back.cause, back.start, back.to, back.retained) == ("prime", length, 0, ())
    again.send("and then?", 10)
    turn = trace.of(TurnEvent)[-1]
    assert (turn.turn, turn.decision, turn.reused) == (2, "prime", 0) and "gone" in turn.why
    again.send("and now?", 10)
    assert trace.of(TurnEvent)[-1].decision == "extend"
    machine = StateMachine()
    for event in trace:
        machine.add(event)
    assert machine.broken == 0 and machine.now == again.session.state


@pytest.mark.parametrize("verify", MODES)
def test_the_answers_are_those_of_a_session_that_never_ended(engine, model, verify):
    chat = talked(engine, model, sampling=WARM, verify=verify)
    again = revived(engine, chat, kept(chat))
    want, got = chat.send("and then?", 30, WARM, verify=verify), again.send("and then?", 30, WARM, verify=verify)
    assert got.tokens == want.tokens
    assert (again.session.sctr, again.session.uctr) == (chat.session.sctr, chat.session.uctr)
    want, got = chat.regenerate(30, WARM, verify=verify), again.regenerate(30, WARM, verify=verify)
    assert got.tokens == want.tokens and again.session.seed == chat.session.seed


@pytest.mark.parametrize("verify", MODES)
@pytest.mark.parametrize("lost", [0, 12])
def test_no_value_is_used_twice(engine, model, verify, lost):
    """Nor when the last events were never kept: the books have the counters."""
    chat = talked(engine, model, sampling=WARM, verify=verify)
    again = revived(engine, chat, kept(chat, lost))
    again.send("and then?", 20, WARM, verify=verify)
    again.regenerate(20, WARM, verify=verify)
    before = chat.session.trace.next_seq
    values = used(list(chat.session.trace)) + used(again.session.trace.since(before))
    assert len(values) > 40 and len(values) == len(set(values))
    assert {value[0] for value in values} == {chat.session.seed}
    assert verify == "coupled" or sum(stream == "test" for _, stream, _ in values) > 20


@pytest.mark.parametrize(("verify", "counter"), [("rejection", "sctr"), ("rejection", "uctr"), ("coupled", "sctr")])
def test_teeth_a_take_up_that_forgets_a_counter_uses_values_twice(engine, model, verify, counter):
    def forgetful(session, books):
        take_up(session, books)
        setattr(session, counter, 0)

    chat = talked(engine, model, sampling=WARM, verify=verify)
    again = revived(engine, chat, kept(chat), how=forgetful)
    again.send("and then?", 20, WARM, verify=verify)
    values = used(list(again.session.trace))
    assert len(values) > len(set(values))


def test_a_trace_that_ends_before_the_books_leaves_a_gap_and_one_that_ends_after_them_counts(engine):
    chat = talked(engine, sampling=WARM)
    early = Books.of(chat.session)
    short = kept(chat, lost=9)
    assert early.whole and not short.whole
    again = revived(engine, chat, short)
    seqs = [event.seq for event in again.session.trace]
    assert seqs == sorted(set(seqs)) and chat.session.trace.next_seq - 9 not in seqs
    again.send("and then?", 10)
    assert again.session.trace.of(RoundEvent)[-1].round == again.session.telem.rounds - 1 >= chat.session.telem.rounds

    chat.send("one more", 12, WARM)
    late = dataclasses.replace(early, trace=kept(chat).trace)
    other = revived(engine, chat, late).session
    assert (other.sctr, other.uctr, other.turn) == (chat.session.sctr, chat.session.uctr, chat.session.turn)
    assert (other.bursts, other.telem) == (chat.session.bursts, chat.session.telem)


def test_a_turn_that_is_lost_without_a_trace_is_passed_over(engine):
    chat = talked(engine, sampling=WARM)
    early = kept(chat)
    chat.send("nobody kept this", 25, WARM)
    again = revived(engine, chat, early.after_a_loss())
    again.send("and then?", 25, WARM)
    values = used(list(chat.session.trace)) + used(again.session.trace.since(early.next_seq))
    assert len(values) == len(set(values)) and again.session.sctr > LOST > chat.session.sctr


def test_what_was_generated_since_is_checked_and_what_was_before_is_not(engine):
    chat = talked(engine)
    again = revived(engine, chat, kept(chat))
    turn = again.send("and then?", 25)
    event = check_exact(again.session)
    assert event.identical and event.tokens == len(turn.tokens) + len(turn.hidden)
    again.session.committed[-2] ^= 1
    assert not check_exact(again.session).identical


def test_the_rule_of_the_session_before_is_not_in_force_any_more(engine):
    chat = talked(engine, sampling=WARM)
    again = revived(engine, chat, kept(chat))
    assert again.session.trace.of(SamplingEvent)[-1].mode == "greedy"
    again.send("and then?", 10, WARM)
    last = again.session.trace.of(SamplingEvent)[-1]
    assert (last.mode, last.seed) == ("rejection", chat.session.seed)


def test_overshoot_that_was_held_back_is_dropped_visibly(engine):
    chat = chat_with(engine)
    chat.send("The quick brown fox", 64)
    chat.send("again again again again", 100)
    hidden = next(turn.hidden for size in range(101, 112) if (turn := chat.regenerate(size)).hidden)
    again = revived(engine, chat, kept(chat))
    dropped = [event for event in again.session.trace.of(OvershootEvent) if event.action == "dropped"]
    assert list(dropped[-1].tokens) == hidden
    tokens = TokensModel()
    for event in again.session.trace:
        tokens.take(event)
    last = chat.transcript.exchanges[-1].answer
    assert last is not None and [token.id for token in tokens.past.kept[-1].tokens] == list(last.ids)
    twice = revived(engine, again, kept(again))
    assert len(twice.session.trace.of(OvershootEvent)) == len(again.session.trace.of(OvershootEvent))


def test_a_cleared_session_has_no_rows_to_lose(engine):
    chat = talked(engine)
    chat.clear()
    again = revived(engine, chat, kept(chat))
    assert not again.session.trace.of(ContextEvent)
    again.send("anew", 5)
    assert again.session.trace.of(TurnEvent)[-1].decision == "extend"


def test_only_a_session_without_a_turn_takes_up_books(engine):
    chat = talked(engine)
    with pytest.raises(SessionStateError, match="no turn"):
        take_up(chat.session, kept(chat))
    chat.clear()
    with pytest.raises(SessionStateError, match="no turn"):
        take_up(chat.session, kept(chat))


@pytest.mark.parametrize(
    "change",
    [
        {"sctr": -1},
        {"sctr": True},
        {"uctr": 2**53 + 1},
        {"turn": -2},
        {"next_seq": None},
        {"seed": 2**64},
        {"telem": {}},
        {"telem": []},
    ],
)
def test_damaged_figures_are_refused(engine, change):
    chat = talked(engine)
    figures = Books.of(chat.session).figures()
    assert Books.read(chat.session.trace, figures) == Books.of(chat.session)
    with pytest.raises(EngineError, match="damaged"):
        Books.read(chat.session.trace, figures | change)


def test_alternatives_of_old_rounds_go_though_events_are_missing(engine, monkeypatch):
    monkeypatch.setattr("engine.trace.RICH", 3)
    chat = ChatSession(engine)
    chat.session.alternatives = 2
    chat.send("The quick brown fox", 20)
    again = revived(engine, chat, dataclasses.replace(kept(chat), next_seq=900))
    again.session.alternatives = 2
    again.send("and then?", 30)
    rich = [event.round for event in again.session.trace.of(RoundEvent) if event.trunk_top]
    assert rich == [event.round for event in again.session.trace.of(RoundEvent)][-3:]
    assert books_file.rows_gone(again.session) is False
