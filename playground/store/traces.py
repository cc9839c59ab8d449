"""The traces of conversations, each in compressed parts in the order of its events, and how their sessions stood.

A part holds the events from `first` to just before `past`, counted by their `seq`. What passes the limit goes from the
old end, as in the session's own bounded trace.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from playground.store.checks import TRACE_BYTES, check_sid
from playground.store.errors import StoreError
from playground.store.leaving import Leaving
from playground.store.present import require

GZIP = b"\x1f\x8b"
BOOKS_CHARS = 4_000
_TOO_MUCH = """DELETE FROM traces WHERE sid = :sid AND first IN (
    SELECT first FROM (
        SELECT first, sum(length(data)) OVER (ORDER BY first DESC) AS size FROM traces WHERE sid = :sid
    ) WHERE size > :most)"""
_OLDEST = """SELECT sid FROM conversations WHERE sid != ? AND sid IN (SELECT sid FROM traces)
    ORDER BY deleted IS NULL, updated LIMIT 1"""


class Traces(Leaving):
    """That part of a `Store`."""

    def save_trace(self, sid: str, data: bytes, first: int, past: int, *, oldest: int = 0) -> None:
        """Keep a part as `playground.exchange.trace_file` writes it, compressed, in place of what is there from `first`
        on. Parts that end before event `oldest`, and the oldest ones where all are too large together, go."""
        if not data.startswith(GZIP):
            raise StoreError("Only a compressed trace is kept.")
        if not 0 <= first < past:
            raise StoreError("A part of a trace holds at least one event.")
        if len(data) > TRACE_BYTES:
            raise StoreError(f"The trace is larger than the {TRACE_BYTES // 2**20} MiB that are kept; download it.")
        with self._db.write() as connection:
            require(connection, sid)
            connection.execute("DELETE FROM traces WHERE sid = ? AND (past > ? OR past <= ?)", (sid, first, oldest))
            row = (sid, first, past, data, self._clock())
            connection.execute("INSERT INTO traces (sid, first, past, data, saved) VALUES (?, ?, ?, ?, ?)", row)
            connection.execute(_TOO_MUCH, {"sid": sid, "most": TRACE_BYTES})

    def load_trace(self, sid: str) -> list[bytes]:
        """The parts that are kept, compressed, oldest first."""
        with self._db.read() as connection:
            require(connection, sid)
            found = connection.execute("SELECT data FROM traces WHERE sid = ? ORDER BY first", (sid,))
            return [bytes(data) for (data,) in found]

    def load_books(self, sid: str) -> dict[str, Any] | None:
        """How the session stood when the messages were last saved; None where that is not known."""
        with self._db.read() as connection:
            require(connection, sid)
            (books,) = connection.execute("SELECT books FROM conversations WHERE sid = ?", (sid,)).fetchone()
        try:
            value = json.loads(books)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    def drop_trace(self, but: str) -> bool:
        """Forget the trace of the conversation that is longest unchanged, other than `but`; of one that was put away
        first. Returns whether there was one."""
        with self._db.write() as connection:
            return connection.execute(f"DELETE FROM traces WHERE sid = ({_OLDEST})", (check_sid(but),)).rowcount > 0


def write_books(connection: sqlite3.Connection, sid: str, books: Mapping[str, Any], *, anew: bool) -> None:
    """Note how the session stands; `anew`: it is another one, so the trace that was kept is not its own."""
    text = json.dumps(dict(books), sort_keys=True)
    if len(text) > BOOKS_CHARS:
        raise StoreError("What is to be kept of a session is too large.")
    connection.execute("UPDATE conversations SET books = ? WHERE sid = ?", (text, sid))
    if anew:
        connection.execute("DELETE FROM traces WHERE sid = ?", (sid,))
