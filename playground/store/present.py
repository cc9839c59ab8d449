"""Whether a conversation is there: one that was put away is not, although it can still be brought back."""

from __future__ import annotations

import sqlite3

from playground.store.checks import MESSAGES, TALK_BYTES, check_sid
from playground.store.errors import StoreError

GONE = "No conversation of this id is kept (any more); open one from the list."


def exists(connection: sqlite3.Connection, sid: str) -> bool:
    """Whether it is kept, and not put away."""
    found = connection.execute("SELECT 1 FROM conversations WHERE sid = ? AND deleted IS NULL", (sid,))
    return found.fetchone() is not None


def require(connection: sqlite3.Connection, sid: str) -> None:
    """Raise `StoreError` unless it is there."""
    if not exists(connection, check_sid(sid)):
        raise StoreError(GONE)


def current_of(connection: sqlite3.Connection, sid: str) -> int | None:
    """The last message of what it shows. Raises `StoreError` unless it is there."""
    require(connection, sid)
    row = connection.execute("SELECT current FROM conversations WHERE sid = ?", (sid,)).fetchone()
    current: int | None = row[0]
    return current


def has(connection: sqlite3.Connection, sid: str, node: object) -> bool:
    """Whether the message is one of the conversation's."""
    if type(node) is not int or not 0 <= node < 2**63:
        return False
    return connection.execute("SELECT 1 FROM nodes WHERE id = ? AND sid = ?", (node, sid)).fetchone() is not None


def require_room(connection: sqlite3.Connection, sid: str) -> None:
    """Raise `StoreError` for one that has grown too large."""
    messages, size = connection.execute("SELECT messages, bytes FROM conversations WHERE sid = ?", (sid,)).fetchone()
    if messages > MESSAGES or size > TALK_BYTES:
        raise StoreError(
            f"The conversation has more than the {MESSAGES:,} messages or {TALK_BYTES // 2**20} MiB that are kept; "
            "begin another one."
        )
