"""The trace: ordered, bounded, exported and loaded back without loss, and in agreement with the telemetry."""

from __future__ import annotations

import itertools
import json

import pytest

from engine import EngineError, generate_spec_session, spec_flush_pending, spec_rewind_to_checkpoint
from engine.events import CheckpointEvent, ContextEvent, PendingEvent, RoundEvent
from engine.trace import SCHEMA, Trace, TraceHeader
from tests.factories import VOCAB
from tests.forwards import ForwardCounter
from tests.scripts import GarbageDrafter, tiny_script


@pytest.fixture
def busy(tiny_engine):
    """A session that has done nearly everything once."""
    engine = tiny_engine("llama")
    session = engine.new_session(drafter="ngram", draft_len=5)
    (first, _), (second, _), _ = tiny_script(VOCAB, seed=2).turns
    generate_spec_session(session, first, 20, ignore_eos=True, checkpoint_at=len(first) - 3)
    generate_spec_session(session, [], 30, ignore_eos=True)
    spec_flush_pending(session)
    generate_spec_session(session, [], 20, ignore_eos=True, overshoot="trim")
    session.set_drafter("none", 3)
    generate_spec_session(session, second, 10, ignore_eos=True)
    spec_rewind_to_checkpoint(session)
    generate_spec_session(session, [], 7, ignore_eos=True)
    yield session
    session.close()


def test_seq_counts_from_zero_without_gaps_and_time_does_not_run_back(busy):
    events = list(busy.trace)
    assert [event.seq for event in events] == list(range(len(events)))
    assert all(a.t <= b.t for a, b in itertools.pairwise(events))


def test_export_and_load_give_the_same_events_and_header(busy):
    lines = list(busy.trace.export())
    loaded = Trace.load(lines)
    assert list(loaded) == list(busy.trace)
    assert loaded.header == busy.trace.header
    assert list(loaded.export()) == lines
    assert loaded.next_seq == busy.trace.next_seq


def test_the_header_names_schema_checkpoint_settings_and_versions(busy):
    header = json.loads(next(busy.trace.export()))
    assert header["schema"] == SCHEMA
    assert header["checkpoint"]
    assert {"torch", "transformers", "python"} <= set(header["versions"])
    assert {"max_draft_len", "max_ctx", "dtype", "width"} <= set(header["settings"])


def test_texts_of_token_ids_travel_in_the_header_and_only_when_there_are_some(busy):
    assert "pieces" not in json.loads(next(busy.trace.export()))
    trace = Trace(TraceHeader("x", pieces={"7": " seven"}))
    assert Trace.load(trace.export()).header == trace.header


def test_events_are_frozen(busy):
    with pytest.raises(AttributeError):
        next(iter(busy.trace)).seq = 5


def test_a_long_trace_forgets_the_oldest_and_says_how_many():
    trace = Trace(TraceHeader("x"), capacity=10)
    for number in range(25):
        trace.append(ContextEvent(action="clamped", used=number, max_ctx=99))
    assert len(trace) == 10
    assert trace.dropped == 15
    assert [event.used for event in trace] == list(range(15, 25))
    assert [event.used for event in trace.since(20)] == [20, 21, 22, 23, 24]
    assert [event.used for event in trace.since(3)] == list(range(15, 25))
    assert trace.since(25) == []
    assert list(Trace.load(trace.export())) == list(trace)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["not json"],
        ["[]"],
        ['{"kind": "round"}'],
        ['{"kind": "header", "schema": 99, "checkpoint": "x"}'],
        ['{"kind": "header", "schema": 1, "checkpoint": "x", "colour": 1}'],
        ['{"kind": "header", "schema": 1, "checkpoint": "x"}', '{"kind": "surprise"}'],
        ['{"kind": "header", "schema": 1, "checkpoint": "x"}', '{"kind": "context", "action": "full"}'],
        ['{"kind": "header", "schema": 1, "checkpoint": "x"}', '{"kind": "context", "unknown": [1]}'],
        ['{"kind": "header", "schema": 1, "checkpoint": "x"}', "{"],
        ['{"kind": "header", "schema": 1, "checkpoint": "x"}', '{"a":' * 50_000],
        ['{"kind": "header", "schema": 1, "checkpoint": "x", "checkpoint": "y"}'],
        ['{"kind": "header", "schema": 1, "checkpoint": "x", "settings": {"a": NaN}}'],
    ],
)
def test_a_damaged_file_is_refused_with_a_sentence(lines):
    with pytest.raises(EngineError, match=r"\.$"):
        Trace.load(lines)


def test_telemetry_and_trace_count_the_same_tokens(busy):
    rounds = busy.trace.of(RoundEvent)
    telem = busy.telem
    assert telem.rounds == len(rounds)
    assert telem.drafted == sum(len(event.drafted) for event in rounds)
    assert telem.accepted == sum(event.accepted for event in rounds)
    assert telem.emitted == sum(event.emitted for event in rounds)
    for event in rounds:
        assert event.emitted + len(event.trimmed) == event.accepted + (event.bonus is not None)
        assert 0 <= event.accepted <= len(event.drafted) <= 7
        assert event.width >= len(event.drafted) + 1
    for place in range(8):
        assert telem.pos_drafted[place] == sum(len(event.drafted) > place for event in rounds)
        assert telem.pos_accepted[place] == sum(event.accepted > place for event in rounds)


def test_every_emitted_token_has_one_origin_in_the_trace(busy):
    """Emitted in all bursts == emitted in rounds + first tokens of turns + promotions."""
    events = list(busy.trace)
    emitted = sum(event.emitted for event in events if event.kind == "burst")
    in_rounds = sum(event.emitted for event in events if event.kind == "round")
    firsts = sum(event.kind == "prefill" and event.first is not None for event in events)
    promoted = sum(isinstance(event, PendingEvent) and event.transition == "promote" for event in events)
    assert firsts == 2
    assert promoted >= 1
    assert emitted == in_rounds + firsts + promoted


def test_pending_transitions_form_a_chain(busy):
    """A token is carried before it is consumed or flushed, and never two at once."""
    carried: int | None = None
    for event in busy.trace.of(PendingEvent):
        if event.transition == "carry":
            assert carried is None
            carried = event.token
        elif event.transition in ("consume", "flush"):
            assert carried == event.token
            carried = None
        elif event.transition == "drop":
            carried = None
    assert carried == busy.pending_tok


@pytest.mark.parametrize("failure", ["callback", "drafter"])
def test_the_chain_of_the_carried_token_survives_a_burst_that_fails(tiny_engine, failure):
    class Dying(GarbageDrafter):
        def propose(self, pending, k, last_h):
            if len(self.rows) > 30:
                raise RuntimeError("no more ideas")
            return super().propose(pending, k, last_h)

    def tire(_tokens):
        if failure == "callback" and session.telem.rounds > 5:
            raise RuntimeError("no more patience")
        return True

    session = tiny_engine("llama").new_session(drafter=Dying(VOCAB) if failure == "drafter" else "none", draft_len=3)
    generate_spec_session(session, list(range(20, 40)), 3, ignore_eos=True)
    with pytest.raises(RuntimeError, match="no more"):
        generate_spec_session(session, [], 40, ignore_eos=True, on_tokens=tire)
    session.set_drafter("none")
    assert session.state == "PENDING"
    generate_spec_session(session, [], 4, ignore_eos=True)
    carried: int | None = None
    for event in session.trace.of(PendingEvent):
        if event.transition == "carry":
            assert carried is None
            carried = event.token
        else:
            assert event.transition == "consume"
            assert carried == event.token
            carried = None
    assert carried == session.pending_tok
    session.close()


def test_checkpoints_in_the_trace_are_the_sessions(busy):
    last = busy.trace.of(CheckpointEvent)[-1]
    assert last.pos == busy.rewind_pos()
    assert list(last.retained)[-1] == last.pos
    first, second = busy.trace.of(CheckpointEvent)[:2]
    assert (first.role, second.role) == ("header", "prompt")
    assert first.pos == second.pos - 3


def test_forwards_are_rounds_and_prefill_chunks_and_flushes(tiny_engine):
    engine = tiny_engine("llama")
    counter = ForwardCounter(engine)
    session = engine.new_session(drafter="ngram", draft_len=4)
    prompt = list(tiny_script(VOCAB, seed=2).turns[0][0])
    chunk, engine.prefill_chunk = engine.prefill_chunk, 4
    try:
        generate_spec_session(session, prompt, 9, ignore_eos=True)
    finally:
        engine.prefill_chunk = chunk
    prefills = [event for event in session.trace if event.kind == "prefill"]
    assert [event.tokens for event in prefills] == [4] * (len(prompt) // 4) + [len(prompt) % 4]
    assert counter.count == counter.in_trace(session)
    before = counter.count, session.telem.rounds
    generate_spec_session(session, [], 5, ignore_eos=True)
    rounds = session.telem.rounds - before[1]
    assert counter.count - before[0] == rounds, "a continuation cost a forward beyond its rounds"
    generate_spec_session(session, [], 1, ignore_eos=True, overshoot="trim")
    before = counter.count, session.telem.rounds
    spec_flush_pending(session)
    spec_flush_pending(session)
    assert counter.count == counter.in_trace(session)
    counter.remove()
    session.close()


def test_a_burst_reports_only_its_own_telemetry(tiny_engine):
    session = tiny_engine("llama").new_session(drafter="ngram", draft_len=4)
    first = generate_spec_session(session, list(range(20, 40)), 12, ignore_eos=True)
    second = generate_spec_session(session, [], 12, ignore_eos=True)
    assert first.telem.rounds + second.telem.rounds == session.telem.rounds
    assert first.telem.merge(second.telem) == session.telem
    assert first.telem.emitted == len(first.tokens) - 1
    assert second.telem.emitted == len(second.tokens)
    session.close()


def test_old_rounds_let_their_alternatives_go_and_keep_the_rest(monkeypatch):
    monkeypatch.setattr("engine.trace.RICH", 3)
    trace, top = Trace(TraceHeader("x"), capacity=8), (((7, 0.5),),)
    given = [bare_round(number, trunk_top=top, draft_top=top if number % 2 else ()) for number in range(12)]
    for event in given:
        trace.append(event)
        kept = trace.of(RoundEvent)
        assert [bool(event.trunk_top) for event in kept[-3:]] == [True] * len(kept[-3:])
        assert not any(event.trunk_top or event.draft_top for event in kept[:-3])
    assert [event.round for event in trace.of(RoundEvent)] == list(range(4, 12))


def bare_round(number: int, **more: object) -> RoundEvent:
    return RoundEvent(
        turn=0,
        burst=0,
        round=number,
        pos=number,
        pending=1,
        drafted=(7,),
        accepted=1,
        bonus=2,
        emitted=2,
        width=2,
        drafter="ngram",
        draft_ms=0.0,
        verify_ms=0.0,
        accept_ms=0.0,
        host_ms=0.0,
        **more,
    )
