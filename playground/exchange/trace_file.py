"""A session's trace as a file of JSON Lines, plain or gzip, with the texts of its token ids, and back.

Line 1 says where the trace comes from (checkpoint, settings, software versions) and has the texts under `pieces`, so
that another installation can show it without that checkpoint. `engine.trace` defines and parses the lines.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
import zlib
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, ValidationError

from engine import events as ev
from engine.errors import EngineError
from engine.trace import CAPACITY, Trace
from playground.exchange.errors import ExchangeError
from playground.exchange.strict_json import Strict, parse, problem_of, require_known, text_of
from playground.exchange.token_ids import ids_of
from playground.exchange.trace_check import check_events
from playground.exchange.trace_messages import (
    MOST,
    SCHEMA_WITH_MESSAGES,
    MessageFields,
    Messages,
    messages_of,
    with_messages,
    without_messages,
)
from playground.exchange.trace_private import header_without_secrets, without_secrets
from playground.panels.token_text import Tokenizer, TokenTexts
from playground.store.checks import clean

LARGEST_PACKED = 24 * 2**20
"""Bytes of a compressed file."""
LARGEST_FILE = 64 * 2**20
"""Bytes once decompressed."""
LONGEST_LINE = 2**20
LONGEST_HEADER = 16 * 2**20
MOST_PIECES = 300_000
GZIP = b"\x1f\x8b"
WHAT = "a trace"

Short = Annotated[str, Field(max_length=500)]
Plain = bool | int | float | Short | None


class HeaderFields(Strict):
    """Line 1 of a file."""

    kind: Literal["header"]
    schema_: Annotated[Literal[1], Field(alias="schema")]
    checkpoint: Short
    settings: Annotated[dict[Short, Plain | Annotated[list[Plain], Field(max_length=100)]], Field(max_length=100)]
    versions: Annotated[dict[Short, Short], Field(max_length=100)]
    pieces: Annotated[
        dict[Annotated[str, Field(pattern=r"^[0-9]{1,10}$")], Annotated[str, Field(max_length=64)]],
        Field(max_length=MOST_PIECES),
    ] = Field(default_factory=dict)


class HeaderWithMessages(HeaderFields):
    """The same of a file that brings the visitor's messages along."""

    schema_: Annotated[Literal[2], Field(alias="schema")]  # type: ignore[assignment]
    messages: Annotated[list[MessageFields], Field(max_length=MOST)]


class TraceFile(NamedTuple):
    """What a file holds."""

    trace: Trace
    messages: Messages


def export_trace(
    trace: Trace,
    tokenizer: Tokenizer | None = None,
    *,
    compressed: bool = False,
    messages: Messages | None = None,
) -> bytes:
    """The file. Without a tokenizer it has the texts that the trace brought along, if any. `messages` are the
    visitor's own, for a reader who may know them.

    Where all events would make it larger than what an import takes, the oldest are left out, as the bounded trace
    itself does; the first `seq` says how many. Paths and keys stay here. May be called while the session runs.
    """
    events = trace.since(0)
    lines = [_line(without_secrets(event)) for event in events]
    pieces = trace.header.pieces if tokenizer is None else _pieces(events, tokenizer)
    header = dataclasses.replace(header_without_secrets(trace.header), pieces=pieces)
    plain = clean(next(Trace(header).export()))
    first = with_messages(plain, messages or {}, events)
    room, start = LARGEST_FILE - len(first) - 1, len(lines)
    while start and room > len(lines[start - 1]):
        start -= 1
        room -= len(lines[start]) + 1
    if start:
        first = with_messages(plain, messages or {}, events[start:])
    data = "".join(f"{line}\n" for line in (first, *lines[start:]) if line).encode()
    return gzip.compress(data, compresslevel=6, mtime=0) if compressed else data


def import_trace(data: bytes) -> Trace:
    """The trace of a file, plain or gzip. Raises `ExchangeError` with the line for anything that does not fit.

    At most 64 MiB are decompressed, whatever the file claims. `PanelFeed` can take any trace that this returns.
    """
    return trace_of(unpacked(data)).trace


def trace_of(data: bytes) -> TraceFile:
    """A file that is not compressed (any more). Raises `ExchangeError` as `import_trace` does."""
    lines = text_of(data, LARGEST_FILE, WHAT).split("\n")
    if lines[-1] == "":
        lines.pop()
    if len(lines) > CAPACITY + 1:
        raise ExchangeError(f"The trace has {len(lines) - 1:,} events, but at most {CAPACITY:,} are read.")
    for number, line in enumerate(lines, start=1):
        if len(line) > (LONGEST_LINE if number > 1 else LONGEST_HEADER):
            raise ExchangeError(f"Line {number} of the trace is too long to be one of ours.")
        if not line.strip():
            raise ExchangeError(f"Line {number} of the trace is empty; the file is damaged or not a trace.")
    first, messages = _read_header(lines[0] if lines else "")
    lines[0] = first
    try:
        trace = Trace.load(lines)
    except EngineError as error:
        raise ExchangeError(str(error)) from None
    check_events(trace)
    return TraceFile(trace, messages_of(messages, trace))


def unpacked(data: bytes) -> bytes:
    """The lines of a file, plain or gzip. Raises `ExchangeError` when it holds too much or is damaged."""
    if not data.startswith(GZIP):
        return data
    if len(data) > LARGEST_PACKED:
        raise ExchangeError(f"The file has {len(data):,} bytes, but a compressed trace has at most {LARGEST_PACKED:,}.")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        out = unpacker.decompress(data, LARGEST_FILE + 1)
    except zlib.error:
        raise ExchangeError("The compressed file is damaged; export the trace again.") from None
    if len(out) > LARGEST_FILE or unpacker.unconsumed_tail:
        raise ExchangeError(f"The file holds more than the {LARGEST_FILE // 2**20} MiB that a trace may have.")
    if not unpacker.eof:
        raise ExchangeError("The compressed file was cut short; export the trace again, or copy it whole.")
    if unpacker.unused_data:
        raise ExchangeError("The compressed file has something behind its end; export the trace again.")
    return out


def _read_header(line: str) -> tuple[str, list[MessageFields]]:
    """The line as `engine.trace` reads it, and the messages that it has besides."""
    if not line:
        raise ExchangeError("The file is empty; export the trace again.")
    value = parse(line)
    if not isinstance(value, dict) or value.get("kind") != "header":
        raise ExchangeError("The file is not a trace of Draftscope: its first line is not the header of one.")
    require_known(value.get("schema"), SCHEMA_WITH_MESSAGES, WHAT)
    try:
        if value["schema"] == SCHEMA_WITH_MESSAGES:
            return without_messages(value), HeaderWithMessages.model_validate(value).messages
        HeaderFields.model_validate(value)
    except ValidationError as error:
        raise ExchangeError(f"Line 1 of the trace is not a header of this version: {problem_of(error)}.") from None
    return line, []


def _pieces(events: Sequence[ev.Event], tokenizer: Tokenizer) -> dict[str, str]:
    text = TokenTexts(tokenizer)
    ids = sorted({token for event in events for token in ids_of(event)})
    return {str(token): clean(text(token)) for token in ids[:MOST_PIECES]}


def _line(event: ev.Event) -> str:
    """One event, '' for one that no JSON can carry. A gap that is no number is unknown."""
    if isinstance(event, ev.CheckEvent) and event.gap is not None and not math.isfinite(event.gap):
        event = dataclasses.replace(event, gap=None)
    try:
        return json.dumps(event.to_dict(), sort_keys=True, allow_nan=False)
    except ValueError:
        return ""
