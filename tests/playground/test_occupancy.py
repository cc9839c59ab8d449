"""What a session takes of the memory, as the panels are told, against the engine's own slots."""

from __future__ import annotations

import json

import pytest

from engine import generate_spec_session, load_engine
from playground import occupancy
from playground.free_memory import free_on
from playground.occupancy import occupancy_of
from playground.panels import LiveStatus, PanelFeed
from tests.playground.fakes import FakeChat, FakeEngine
from tests.playground.words import WordTokenizer

PROMPT = [5, 9, 14, 30, 7, 5, 9, 14]


def test_both_caches_of_a_session_with_a_draft_model(tiny_engine, tiny_checkpoint) -> None:
    engine = tiny_engine("llama", max_ctx=208)
    session = engine.new_session(f"model:{tiny_checkpoint('llama')}", 5)
    before = occupancy_of(session, 0)
    assert before is not None and not before.own_slot
    assert [(cache.name, cache.used, cache.reserved) for cache in before.caches] == [
        ("trunk", 0, 0),
        ("draft model", 0, 0),
    ]
    generate_spec_session(session, PROMPT, 12, ignore_eos=True)
    now = occupancy_of(session, 1)
    assert now is not None and now.own_slot and session.slot is not None
    trunk, draft = now.caches
    assert (trunk.used, trunk.limit, trunk.reserved) == (len(session.committed), 208, session.slot.capacity)
    assert trunk.reserved >= 208 + engine.width and trunk.nbytes == session.slot.nbytes
    assert draft.used > 0 and draft.nbytes == session.drafter.nbytes and trunk.dtype == draft.dtype == "float32"
    assert (now.slots_used, now.slots) == (len(engine.slots), 4)
    assert now.slot_bytes == engine.slots.nbytes and now.draft_weights > 0
    assert now.graphs == engine.graph_state and now.reads is None
    session.close()


def test_who_lost_its_slot_is_told_so_and_nothing_of_the_other(tiny_engine) -> None:
    engine = tiny_engine("llama", max_ctx=216, slots=1)
    ours, other = engine.new_session("none"), engine.new_session("none")
    generate_spec_session(ours, PROMPT, 4, ignore_eos=True)
    generate_spec_session(other, PROMPT * 4, 40, ignore_eos=True)
    told = occupancy_of(ours, 1)
    assert told is not None and not told.own_slot and told.caches[0].used == 0
    assert (told.slots_used, told.slots) == (1, 1)
    other.close()
    ours.close()


def test_it_travels_as_a_group_of_its_own_and_again_only_what_changed(
    tiny_engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(occupancy, "free_on", lambda device: 12_000_000_000)
    session = tiny_engine("llama", max_ctx=224).new_session("none")
    generate_spec_session(session, PROMPT, 4, ignore_eos=True)
    feed = PanelFeed("s", WordTokenizer())

    def tick() -> dict:
        status = LiveStatus(occupancy=occupancy_of(session, 1))
        return json.loads(feed.update(session.trace.since(feed.next_seq), status)).get("y", {})

    first = tick()
    assert first["used"] == [len(session.committed)] and first["slots"][1:] == [4, 1] and first["graphs"]
    assert "/" not in first["model"] and first["free"] == 12_000_000_000
    generate_spec_session(session, [], 4, ignore_eos=True)
    assert tick() == {"used": [len(session.committed)]}
    session.close()


def test_free_memory_is_told_coarsely_and_not_where_it_cannot_be_asked() -> None:
    free = free_on("cpu")
    assert free is not None and 0 < free < 1e15 and free % 10 ** (len(str(free)) - 2) == 0
    assert free_on("cuda:99") is None


def test_an_engine_without_slots_has_nothing_to_tell() -> None:
    assert occupancy_of(FakeChat(FakeEngine()).session, 0) is None  # type: ignore[arg-type]


def test_the_way_of_a_device_tells_its_graphs_and_its_waits(tiny_checkpoint) -> None:
    engine = load_engine(
        str(tiny_checkpoint("llama")), drafter="none", max_ctx=64, slots=2, threads=1, device_path=True
    )
    session = engine.new_session("none")
    generate_spec_session(session, PROMPT, 4, ignore_eos=True)
    told = occupancy_of(session, 1)
    assert told is not None and engine.device_path is not None
    assert told.graphs == engine.device_path.state and told.reads == engine.device_path.reads > 0
    assert told.slot_bytes == engine.device_path.nbytes and told.caches[0].nbytes > 0
    session.close()
    engine.close()
    assert occupancy_of(session, 1) is None
