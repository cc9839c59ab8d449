"""Three visitors at once: every session's trace is, but for its times, the one that it has alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playground import worker
from playground.limits import TurnOptions
from playground.service import Service
from tests.playground.conftest import tiny_service

TALKS = {
    "greedy": TurnOptions(max_new=14, burst=3),
    "rejection": TurnOptions(max_new=14, burst=3, temperature=0.9, top_k=40, seed=11),
    "coupled": TurnOptions(max_new=14, burst=3, temperature=0.9, seed=12, verify="coupled"),
}
TURNS = ("The quick brown fox", "jumps over", "the lazy dog", "The quick brown fox again", "and again")


@pytest.fixture
def service(tiny_checkpoint: Callable[[str], Path]) -> Iterator[Service]:
    with tiny_service(tiny_checkpoint("llama"), 512) as service:
        yield service


def talk(service: Service, kind: str, owners: list[str] | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    """Five turns of one visitor; the events without times, and the texts."""
    conversation = service.registry.new()
    texts = []
    for message in TURNS:
        texts.append(conversation.send(message, TALKS[kind]).result(60).text)
        if owners is not None:
            owners.append(kind)
    assert conversation.chat is not None
    lines = [json.loads(line) for line in conversation.chat.session.trace.export()]
    return [timeless(event) for event in lines[1:]], texts


def timeless(event: dict[str, Any]) -> dict[str, Any]:
    """Without what a clock says."""
    return {name: value for name, value in event.items() if name != "t" and not name.endswith("ms")}


@pytest.mark.parametrize("slice_s", [0.25, 0.0], ids=["edges of bursts", "every round"])
def test_three_visitors_at_once_have_the_traces_they_have_alone(
    service: Service, monkeypatch: pytest.MonkeyPatch, slice_s: float
) -> None:
    monkeypatch.setattr(worker, "SLICE_S", slice_s)
    alone = {kind: talk(service, kind) for kind in TALKS}
    owners: list[str] = []
    together: dict[str, Any] = {}

    def visit(kind: str) -> None:
        together[kind] = talk(service, kind, owners)

    threads = [threading.Thread(target=visit, args=(kind,)) for kind in TALKS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert owners != sorted(owners, key=list(TALKS).index), "they took turns"
    for kind in TALKS:
        assert together[kind] == alone[kind], kind
    rounds = [event for event in alone["rejection"][0] if event["kind"] == "round"]
    assert len(rounds) > 10 and any(event["uctr"] for event in rounds)


def test_teeth_another_seed_is_another_trace(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    first = talk(service, "rejection")
    monkeypatch.setitem(TALKS, "rejection", TurnOptions(max_new=14, burst=3, temperature=0.9, top_k=40, seed=99))
    assert talk(service, "rejection") != first
