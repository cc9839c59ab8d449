"""The visitor's messages in a trace's file, each beside the event of the turn that answers it.

A file with messages has schema 2 and one more field in its first line; without them it is a file of schema 1, as ever,
which every version reads. `engine.trace` knows neither: to it the line is the header without the messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from engine import events as ev
from engine.trace import SCHEMA
from playground.exchange.errors import ExchangeError
from playground.exchange.strict_json import Strict
from playground.exchange.trace_check import LARGEST_NUMBER
from playground.store.checks import clean

SCHEMA_WITH_MESSAGES = SCHEMA + 1
MOST = 1_000
LONGEST = 100_000
"""Characters of one message."""
ALL_CHARS = 4 * 2**20
"""Characters of all messages; of more, the oldest are left out."""
Messages = Mapping[int, str]
"""`seq` of a turn's event -> the message that the turn answers."""


class MessageFields(Strict):
    """One message of the file."""

    seq: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]
    text: Annotated[str, Field(max_length=LONGEST)]


def with_messages(header: str, messages: Messages, events: Iterable[ev.Event]) -> str:
    """A file's first line with the messages of those turns that `events` has; the same line where there is none."""
    chosen: list[dict[str, Any]] = []
    room = ALL_CHARS
    turns = [event.seq for event in events if isinstance(event, ev.TurnEvent) and event.seq in messages]
    for seq in reversed(turns[-MOST:]):
        text = clean(messages[seq])[:LONGEST]
        room -= len(text)
        if room < 0:
            break
        chosen.append({"seq": seq, "text": text})
    if not chosen:
        return header
    value = json.loads(header) | {"schema": SCHEMA_WITH_MESSAGES, "messages": chosen[::-1]}
    return json.dumps(value, sort_keys=True)


def without_messages(value: dict[str, Any]) -> str:
    """A first line that was checked, as `engine.trace` reads it."""
    return json.dumps({key: item for key, item in value.items() if key != "messages"} | {"schema": SCHEMA})


def messages_of(fields: Sequence[MessageFields], events: Iterable[ev.Event]) -> dict[int, str]:
    """The messages. Raises `ExchangeError` for one that is out of order or belongs to no turn of the file."""
    turns = {event.seq for event in events if isinstance(event, ev.TurnEvent)}
    out: dict[int, str] = {}
    last = -1
    for number, field in enumerate(fields, start=1):
        if field.seq <= last or field.seq not in turns:
            raise ExchangeError(f"Message {number} of the trace belongs to no turn of it; the file is damaged.")
        last = field.seq
        out[last] = clean(field.text)
    if sum(map(len, out.values())) > ALL_CHARS:
        raise ExchangeError(f"The messages of the trace have more than the {ALL_CHARS:,} characters that are read.")
    return out
