"""What the page's script may ask: a round, a token outside the rounds, an earlier turn, and whether rounds record more.

Each function takes one JSON value from the page and trusts nothing in it. The answer is JSON text; '' where the id is
not known, or the page shows a history that has ended since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from engine import events as ev
from engine.trace import CAPACITY
from playground.inspector.detail import round_detail
from playground.inspector.find import find_outside, find_round
from playground.inspector.outside import outside_detail
from playground.inspector.recording import recorded
from playground.inspector.turns import beside, token_at, turn_reply, with_number, with_round, with_turn
from playground.limits import Refused
from playground.panels.feed import Looked

if TYPE_CHECKING:
    from playground.conversation import Conversation
    from playground.panels import PanelFeed
    from playground.service import Service

EVICTED = f"Its events have left the trace, which keeps the newest {CAPACITY:,}."
Asked = dict[str, Any]
Replayed = Callable[[object], "tuple[PanelFeed, Sequence[ev.Event]] | None"]
"""A recorded session's feed, and its events as far as they are shown; None for an id that is none of one."""


class Inspector:
    """Answers for one service."""

    def __init__(self, service: Service, replayed: Replayed | None = None) -> None:
        """`replayed` knows the recorded sessions that pages look at, by the ids their deltas carry."""
        self._service = service
        self._replayed = replayed

    def inspect(self, data: object) -> str:
        """`{sid, e, round}`: that round as the page counts it, from 1; or `{sid, e, number, place}`: a token."""
        asked, feed, events = self._looked_at(data)
        if feed is None:
            return ""
        if isinstance(number := asked.get("round"), int):
            return _dumps(feed.look(asked.get("e"), lambda looked: _round(looked, events, number - 1)))
        return _dumps(feed.look(asked.get("e"), lambda looked: _outside(looked, events, asked)))

    def turn(self, data: object) -> str:
        """`{sid, e, number, step}`: the turn before or after that one, or itself; `round`, `turn`: the one with it."""
        asked, feed, _ = self._looked_at(data)
        return "" if feed is None else _dumps(feed.look(asked.get("e"), lambda looked: _turn(looked, asked)))

    def record(self, data: object) -> str:
        """`{sid, on}`: whether rounds record alternatives from now on; without `on`, whether they do."""
        asked, conversation = self._called(data)
        if conversation is None:
            return ""
        if isinstance(on := asked.get("on"), bool):
            conversation.record_alternatives(on)
        engine = self._service.engine
        return _dumps({"on": engine is not None and recorded(engine, conversation.alternatives) > 0})

    def _looked_at(self, data: object) -> tuple[Asked, PanelFeed | None, Sequence[ev.Event]]:
        asked, conversation = self._called(data)
        recorded = self._replayed(asked.get("sid")) if conversation is None and self._replayed is not None else None
        return (asked, *recorded) if recorded is not None else (asked, _feed(conversation), _events(conversation))

    def _called(self, data: object) -> tuple[Asked, Conversation | None]:
        if isinstance(data, list) and data:
            data = data[0]
        asked = data if isinstance(data, dict) else {}
        try:
            return asked, self._service.registry.get(asked.get("sid"))
        except Refused:
            return asked, None


def inspector_functions(service: Service, replayed: Replayed | None = None) -> list[Callable[[object], str]]:
    """For `gr.HTML(server_functions=...)`, which marks functions and goes by their names."""
    inspector = Inspector(service, replayed)

    def inspect(data: object) -> str:
        return inspector.inspect(data)

    def turn(data: object) -> str:
        return inspector.turn(data)

    def record(data: object) -> str:
        return inspector.record(data)

    return [inspect, turn, record]


def _feed(conversation: Conversation | None) -> PanelFeed | None:
    stream = None if conversation is None else conversation.stream
    return None if stream is None else stream.feed


def _events(conversation: Conversation | None) -> Sequence[ev.Event]:
    trace = None if conversation is None else conversation.trace
    return [] if trace is None else trace.since(0)


def _round(looked: Looked, events: Sequence[ev.Event], number: int) -> Asked:
    """`number` counts from 0, as the deltas do."""
    found = find_round(events, looked.numbered.original("round", number))
    if found is None:
        return {"round": number + 1, "gone": EVICTED}
    own = {"round": found.event.round, "turn": found.event.turn, "burst": found.event.burst}
    numbers = {name: looked.numbered.shown(name, value) + 1 for name, value in own.items()}
    return numbers | round_detail(found, looked.texts)


def _outside(looked: Looked, events: Sequence[ev.Event], asked: Asked) -> Asked | None:
    at = token_at(looked.tokens, asked.get("number"), asked.get("place"))
    if at is None:
        return None
    turn, token = at
    head = {"turn": turn + 1, "id": token.id, "text": looked.texts(token.id)}
    found = find_outside(events, looked.numbered.original("turn", turn), token.id, token.index)
    return head | ({"gone": EVICTED} if found is None else outside_detail(found))


def _turn(looked: Looked, asked: Asked) -> Asked | None:
    model, number, step = looked.tokens, asked.get("number"), asked.get("step")
    if isinstance(round_ := asked.get("round"), int):
        past = with_round(model, round_ - 1)
    elif isinstance(turn := asked.get("turn"), int):
        past = with_turn(model, turn)
    elif step in (-1, 1):
        past = beside(model, number, step)
    else:
        past = with_number(model, number)
        if past is None and number is not None:
            return None
    return turn_reply(model, past, looked.texts)


def _dumps(value: Asked | None) -> str:
    """As the deltas are written: no literal `<`, and nothing that no UTF-8 can carry."""
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
