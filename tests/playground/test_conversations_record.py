"""What was recorded of a conversation comes back with it: panels, inspector, download, and the numbers go on."""

from __future__ import annotations

import json
import threading
from typing import Any, cast

import pytest

from engine.books import LOST
from engine.events import CheckEvent, RewindEvent, RoundEvent, SamplingEvent, TurnEvent
from engine.trace import Trace
from playground.api import Endpoints
from playground.conversation import Conversation
from playground.conversations import keeping
from playground.conversations.desk import Desk
from playground.conversations.record import CUT_SHORT, FOREIGN, NOT_SHOWN, SHOWN
from playground.exchange.trace_file import trace_of, unpacked
from playground.inspector.calls import Inspector
from playground.keeper import passing_keeper
from playground.limits import Refused, TurnOptions
from playground.service import Service
from playground.store import StoreError
from playground.trace_download import trace_download
from playground.viewer import full, live_status
from tests.playground.kept import OPTIONS, REAL, Start, said
from tests.playground.test_exchange_messages import questions_at

WARM = TurnOptions(max_new=12, drafter="ngram", draft_len=4, temperature=1.2)


@pytest.fixture
def engine(tiny_engine: Any) -> Any:
    return tiny_engine("llama", max_ctx=512)


def panels(app: Service, talk: Conversation) -> dict[str, Any]:
    from playground.viewer import Viewer

    list(Viewer(app, talk).show())
    return cast(dict[str, Any], json.loads(full(app, talk)))


def rounds_of(shown: dict[str, Any]) -> int:
    return len(shown["r"]) + len(shown["old"])


def taken(app: Service, talk: Conversation, *, messages: bool = False) -> bytes:
    import base64

    answer = trace_download(app, talk, messages=messages)
    return unpacked(base64.b64decode(json.loads(answer)["data"])) if answer else b""


def draws(trace: Trace) -> list[int]:
    return [event.sctr + i for event in trace.of(RoundEvent) for i in range(event.draws)]


def test_after_a_restart_panels_inspector_and_download_are_there_before_any_message(start: Start, engine: Any) -> None:
    app = start(engine)
    sid = said(app, "The quick brown fox", "jumps over", options=WARM)
    talk = app.registry.get(sid)
    before, rounds = panels(app, talk), cast(Any, talk.chat).session.telem.rounds
    live = live_status(app, talk, talk.view())
    app = start(engine)
    talk = app.registry.get(sid)
    now, status = panels(app, talk), live_status(app, talk, talk.view())
    assert talk.chat is None and talk.view().notice.endswith(f"with your next message. {SHOWN}")
    assert rounds > 3 and rounds_of(now) == rounds_of(before)
    for what in ("r", "t", "k", "m", "p", "z", "v", "c", "g"):
        assert now[what] == before[what], what
    assert (status.state, status.committed, status.pending) == (live.state, live.committed, live.pending)
    assert status.rewind_points == () and not status.running and status.occupancy is None

    inspector = Inspector(app)
    shown = json.loads(inspector.inspect({"sid": sid, "e": now["e"], "round": rounds}))
    assert shown["round"] == rounds and shown["columns"] and shown["mode"] == "rejection"
    past = json.loads(inspector.turn({"sid": sid, "e": now["e"], "number": None, "step": -1}))
    assert past["turn"] == 0 and past["tokens"] and past["texts"]

    data = taken(app, talk, messages=True)
    assert questions_at(data) == ["The quick brown fox", "jumps over"]
    assert len(trace_of(data).trace.of(RoundEvent)) == rounds and trace_of(data).trace.header.pieces
    assert len(Endpoints(app).trace(sid)) == len(trace_of(data).trace)


def test_the_next_turn_goes_on_in_the_same_stream_and_draws_no_value_twice(start: Start, engine: Any) -> None:
    app = start(engine)
    sid = said(app, "The quick brown fox", options=WARM)
    first, seed = app.registry.get(sid).trace, cast(Any, app.registry.get(sid).chat).session.seed
    assert first is not None
    for number in range(2):
        app = start(engine)
        talk = app.registry.get(sid)
        stream = panels(app, talk)["e"]
        talk.send(f"and {number}?", WARM).result(20)
        now, trace = panels(app, talk), talk.trace
        assert trace is not None and trace is cast(Any, talk.chat).session.trace and talk.record is None
        assert now["e"] == stream and rounds_of(now) == cast(Any, talk.chat).session.telem.rounds
    events = list(trace)
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.to_dict() for event in events[: len(first)]] == [event.to_dict() for event in first]
    assert [event.round for event in trace.of(RoundEvent)] == list(range(len(trace.of(RoundEvent))))
    assert [event.decision for event in trace.of(TurnEvent)] == ["extend", "prime", "prime"]
    used = draws(trace)
    assert len(used) > 8 and len(used) == len(set(used))
    assert {event.seed for event in trace.of(SamplingEvent)} == {None, seed}
    assert questions_at(taken(app, talk, messages=True)) == ["The quick brown fox", "and 0?", "and 1?"]


def test_a_check_compares_what_was_generated_since_and_says_how_much_it_could_not(start: Start, engine: Any) -> None:
    app = start(engine)
    sid = said(app, "The quick brown fox", "jumps over", options=REAL)
    talk = app.registry.get(sid)
    assert talk.check().result(20).identical and "read again" not in talk.view().notice
    app = start(engine)
    talk = app.registry.get(sid)
    with pytest.raises(Refused, match="not in the caches yet"):
        talk.check()
    talk.send("and then?", REAL).result(20)
    event = talk.check().result(20)
    assert event.identical and event.tokens == 8
    assert "; 16 tokens of earlier answers were read again, and not compared." in talk.view().notice


def test_where_nothing_is_on_the_disk_the_same_comes_back_after_the_lease(start: Start, engine: Any) -> None:
    app = start(engine, keeper=passing_keeper())
    sid = said(app, "The quick brown fox", options=WARM)
    talk = app.registry.get(sid)
    talk.check().result(20)
    rounds = rounds_of(panels(app, talk))
    app.registry._ttl_s = -1.0
    assert app.registry.sweep() == 1
    app.worker.submit("test", (done := threading.Event()).set)
    assert done.wait(5), "the disposal is over"
    again = app.registry.get(sid)
    assert again is not talk and rounds_of(panels(app, again)) == rounds
    assert again.view().notice.startswith("Opened again: ") and again.view().notice.endswith(SHOWN)
    assert again.trace is not None and again.trace.of(CheckEvent), "what came after the last save was kept at the end"


def test_a_trace_that_is_behind_is_said_to_be_and_the_values_are_still_not_repeated(
    start: Start, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = start(engine)
    sid = said(app, "The quick brown fox", options=WARM)
    app.keeper.behind.settle()

    def full_up(*_: Any, **__: Any) -> None:
        raise StoreError("There is no room.")

    monkeypatch.setattr(app.keeper.store, "save_trace", full_up)
    talk = app.registry.get(sid)
    assert talk.send("jumps over", WARM).result(20).tokens and talk.view().unkept == ""
    lost, rounds = talk.trace, cast(Any, talk.chat).session.telem.rounds
    assert lost is not None
    app = start(engine)
    talk = app.registry.get(sid)
    assert talk.view().notice.endswith(CUT_SHORT) and 0 < rounds_of(panels(app, talk)) < rounds
    talk.send("and then?", WARM).result(20)
    assert talk.trace is not None
    new = [event for event in talk.trace.since(lost.next_seq) if isinstance(event, RoundEvent)]
    assert new[0].round == rounds and new[0].sctr >= max(draws(lost)) + 1


@pytest.mark.parametrize("damage", ["none", "text", "mixed"])
def test_without_a_trace_that_can_be_read_it_says_so_and_the_numbers_go_on(
    start: Start, engine: Any, damage: str
) -> None:
    app = start(engine)
    sid = said(app, "The quick brown fox", options=WARM)
    session = cast(Any, app.registry.get(sid).chat).session
    at, store = (session.sctr, session.uctr, session.telem.rounds), app.keeper.store
    app.keeper.behind.settle()
    (data,) = store.load_trace(sid)
    broken = {"none": data, "text": b"\x1f\x8b this is none", "mixed": data}[damage]
    store.save_trace(sid, broken, 0, 9)
    if damage == "mixed":
        store.save_trace(sid, data, 9, 10)
    if damage == "none":
        store.drop_trace(but="0" * 32)
    app = start(engine)
    talk = app.registry.get(sid)
    assert talk.view().notice.endswith(NOT_SHOWN) and rounds_of(panels(app, talk)) == 0
    assert taken(app, talk) == b""
    talk.send("and then?", WARM).result(20)
    rounds = cast(Any, talk.trace).of(RoundEvent)
    assert (rounds[0].sctr - 1, rounds[0].uctr, rounds[0].round) == at, "one value more for the first token"
    app = start(engine)
    assert app.registry.get(sid).view().notice.endswith(SHOWN)


def test_what_another_model_recorded_is_shown_with_its_own_texts_and_begins_anew(start: Start, engine: Any) -> None:
    app = start()
    sid = said(app, "one", "two")
    before = panels(app, app.registry.get(sid))
    app = start(engine)
    talk = app.registry.get(sid)
    now = panels(app, talk)
    assert now["v"] == before["v"] and now["t"] == before["t"], "no text of the other model's tokenizer"
    assert talk.view().notice.endswith(FOREIGN.format(model="fake/words"))
    assert questions_at(taken(app, talk, messages=True)) == ["one", "two"]
    talk.send("three", WARM).result(20)
    new = panels(app, talk)
    assert new["e"] != now["e"] and talk.trace is not None and len(talk.trace.of(TurnEvent)) == 1
    app = start(engine)
    trace = app.registry.get(sid).trace
    assert trace is not None and len(trace.of(TurnEvent)) == 1, "only the new session's is kept"


def test_deleting_takes_the_record_along_and_undoing_brings_it_back(start: Start) -> None:
    app = start()
    sid, other = said(app, "one"), said(app, "else")
    app.keeper.behind.settle()
    desk, store = Desk(app), app.keeper.store
    parts = store.load_trace(sid)
    desk.delete({"sid": other, "id": sid, "own": []})
    desk.restore({"sid": other, "id": sid, "own": []})
    assert store.load_trace(sid) == parts and app.registry.get(sid).trace is not None
    desk.delete({"sid": other, "id": sid, "own": []})
    desk.forget({"sid": other, "id": sid, "own": []})
    with store._db.read() as connection:
        assert connection.execute("SELECT DISTINCT sid FROM traces").fetchall() == [(other,)]


def test_what_runs_when_a_conversation_is_deleted_does_not_bring_its_trace_back(start: Start) -> None:
    app = start()
    sid = said(app, "one")
    talk = app.registry.get(sid)
    app.keeper.store.put_away(sid)
    talk.forget()
    talk._rest.keep_trace(talk.chat)
    app.keeper.store.delete(sid)
    app.keeper.behind.settle()
    assert sid not in app.keeper.store


def test_values_of_a_very_first_turn_that_was_lost_are_passed_over(start: Start, engine: Any) -> None:
    app = start(engine)
    sid = "e" * 32
    app.keeper.begin(sid, [("user", "The quick brown fox")], WARM)
    app = start(engine)
    talk = app.registry.get(sid)
    assert talk.view().can_continue and "panels" not in talk.view().notice and taken(app, talk) == b""
    talk.continue_turn(WARM).result(20)
    assert cast(Any, talk.trace).of(RoundEvent)[0].sctr > LOST


def test_a_clear_before_the_next_message_clears_what_was_recorded_too(start: Start, engine: Any) -> None:
    app = start(engine)
    sid = said(app, "The quick brown fox", options=WARM)
    session = cast(Any, app.registry.get(sid).chat).session
    at = session.sctr
    app = start(engine)
    talk = app.registry.get(sid)
    assert rounds_of(panels(app, talk)) > 0
    talk.clear().result(5)
    now = panels(app, talk)
    assert rounds_of(now) == 0 and now["s"]["state"] == "FRESH" and now["s"]["committed"] == 0
    app = start(engine)
    talk = app.registry.get(sid)
    assert rounds_of(panels(app, talk)) == 0, "nor does a restart bring it back"
    talk.send("anew", WARM).result(20)
    assert talk.trace is not None and talk.trace.of(TurnEvent)[-1].decision == "extend"
    assert [event.cause for event in talk.trace.of(RewindEvent)] == ["clear"]
    assert talk.trace.of(RoundEvent)[-1].sctr > at
    assert questions_at(taken(app, talk, messages=True)) == ["anew"]


def test_a_branch_other_than_the_recorded_one_is_said_to_be(start: Start) -> None:
    app = start()
    sid = said(app, "one", "two")
    talk = app.registry.get(sid)
    talk.edit(1, "another two", OPTIONS).result(5)
    talk.show_branch(app.keeper.store.branches(sid)[0].leaf, app.engine).result(5)
    app = start()
    talk = app.registry.get(sid)
    assert talk.elsewhere and live_status(app, talk, talk.view()).elsewhere
    talk.send("three", OPTIONS).result(5)
    assert not talk.elsewhere
    app = start()
    talk = app.registry.get(sid)
    assert not talk.elsewhere
    talk.show_branch(app.keeper.store.branches(sid)[1].leaf, app.engine).result(5)
    assert talk.elsewhere


def test_no_answer_waits_for_a_trace_that_is_written(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are made and written on another thread, and no event twice."""
    wrote: list[tuple[str, int, int]] = []
    app = start()
    store, save = app.keeper.store, app.keeper.store.save_trace

    def save_trace(sid: str, data: bytes, first: int, past: int, **options: Any) -> None:
        wrote.append((threading.current_thread().name, first, past))
        save(sid, data, first, past, **options)

    monkeypatch.setattr(store, "save_trace", save_trace)
    monkeypatch.setattr(keeping, "PART", 4)
    sid = said(app, "one", "two", "three")
    app.keeper.behind.settle()
    trace = app.registry.get(sid).trace
    assert trace is not None and len(wrote) > 4 and all(name.startswith("keeper") for name, _, _ in wrote)
    assert [first for _, first, _ in wrote] == [0, *(past for _, _, past in wrote[:-1])]
    assert wrote[-1][2] == trace.next_seq and all(past - first <= 4 for _, first, past in wrote)


def test_after_a_switch_of_models_the_former_ones_trace_can_still_be_taken_along(start: Start) -> None:
    app = start()
    sid = said(app, "one")
    talk = app.registry.get(sid)
    before = taken(app, talk)
    cast(Any, talk.chat).engine.checkpoint.id = "another/model"
    app.start()
    assert app.wait(10) and talk.chat is None
    assert taken(app, talk) == before and b" w" in before and panels(app, talk)["t"][2]
