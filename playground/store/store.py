"""The public side of the store: conversations by session id, each a tree of messages with one path shown.

Whoever knows a conversation's sid may open it, as in the app's registry; so a list is made for the sids that a visitor
names, and for all only where there is one local user. Every method may be called from any thread, is one transaction,
and raises `StoreError`, with nothing changed, for what is not there, does not fit, or cannot be written.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from playground.store import rows
from playground.store.branches import Branch, branches_of
from playground.store.checks import (
    CONVERSATIONS,
    MESSAGES,
    TALK_BYTES,
    TRACE_BYTES,
    check_name,
    check_path,
    check_settings,
    check_sid,
    check_system,
    check_talk,
)
from playground.store.database import Database
from playground.store.errors import StoreError
from playground.store.folder import FILE, data_folder
from playground.store.listing import listed, prepare
from playground.store.placing import find, grown, merged
from playground.store.values import Node, Said, Settings, Summary, Talk

GZIP = b"\x1f\x8b"


def open_store(folder: Path | str | None = None) -> Store:
    """The store in `folder`, in `DRAFTSCOPE_DATA`, or in the user's data folder. Raises `StoreError`, `StoreTooNew`."""
    return Store(data_folder(folder) / FILE)


class Store:
    """Conversations in one file, or in memory where there is no path.

    `notice` is a sentence for the user when a damaged file was put aside, or ''.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._db = Database(path)
        self._clock = clock
        self.notice = self._db.notice
        with self._db.read() as connection:
            prepare(connection)

    def create(self, sid: str, *, name: str = "", system: str = "", settings: Settings | None = None) -> None:
        """Begin an empty conversation. Refused when `sid` has one."""
        now = self._clock()
        self.add(sid, Talk(name=name, created=now, updated=now, system=system, settings=settings or {}))

    def add(self, sid: str, talk: Talk) -> None:
        """Keep a whole conversation, an imported one for example, under a new sid. Its nodes get ids of their own."""
        check_sid(sid)
        talk = check_talk(talk)
        with self._db.write() as connection:
            if connection.execute("SELECT count(*) FROM conversations").fetchone()[0] >= CONVERSATIONS:
                raise StoreError(f"There are {CONVERSATIONS:,} conversations already; delete some first.")
            if _exists(connection, sid):
                raise StoreError("A conversation with this id is kept already.")
            connection.execute(
                "INSERT INTO conversations (sid, name, created, updated, system, settings) VALUES (?, ?, ?, ?, ?, ?)",
                (sid, talk.name, talk.created, talk.updated, talk.system, _json(talk.settings)),
            )
            ids: dict[int | None, int | None] = {None: None}
            for node in talk.nodes:
                ids[node.id] = rows.insert(connection, sid, ids[node.parent], node.said, node.created)
            connection.execute("UPDATE conversations SET current = ? WHERE sid = ?", (ids[talk.current], sid))

    def __contains__(self, sid: str) -> bool:
        with self._db.read() as connection:
            return _exists(connection, check_sid(sid))

    def save_path(
        self, sid: str, path: Sequence[Said], *, system: str | None = None, settings: Settings | None = None
    ) -> int | None:
        """Make `path` what the conversation shows, and return its last node, None for an empty path.

        What is there already is found again; the rest becomes a new branch, so that nothing said before is lost. An
        answer that was continued grows in its place. `system` and `settings`, where given, replace the old ones.
        Saving the same again changes nothing.
        """
        check_sid(sid)
        path = check_path(path)
        with self._db.write() as connection:
            before = connection.total_changes
            old = _current(connection, sid)
            node = _place(connection, sid, path, old, self._clock())
            if node != old:
                connection.execute("UPDATE conversations SET current = ? WHERE sid = ?", (node, sid))
            if system is not None:
                _replace(connection, sid, "system", check_system(system))
            if settings is not None:
                _replace(connection, sid, "settings", _json(check_settings(settings)))
            if connection.total_changes != before:
                self._touch(connection, sid)
            _require_room(connection, sid)
        return node

    def load(self, sid: str) -> Talk:
        """The whole conversation; `Talk.path` is what it shows."""
        check_sid(sid)
        with self._db.read() as connection:
            row = connection.execute(
                "SELECT name, created, updated, system, settings, current FROM conversations WHERE sid = ?", (sid,)
            ).fetchone()
            if row is None:
                raise StoreError(_GONE)
            found = connection.execute(f"SELECT {rows.COLUMNS} FROM nodes WHERE sid = ? ORDER BY id", (sid,))
            nodes = tuple(rows.node_of(item) for item in found)
        name, created, updated, system, settings, current = row
        return Talk(name, created, updated, system, json.loads(settings), nodes, current)

    def list_conversations(
        self, owned: Collection[str] = (), *, all: bool = False, search: str = "", limit: int = 200, offset: int = 0
    ) -> list[Summary]:
        """Conversations, the latest changed first: those of `owned`, or with `all`, where one user is served, all.

        `search` keeps those whose name or any message of theirs, on any branch, contains it, whatever its case.
        """
        with self._db.read() as connection:
            return listed(connection, None if all else owned, search, limit, offset)

    def rename(self, sid: str, name: str) -> None:
        """Give it a name; '' takes the name away."""
        name = check_name(name)
        with self._db.write() as connection:
            _require(connection, sid)
            _replace(connection, sid, "name", name)
            self._touch(connection, sid)

    def delete(self, sid: str) -> None:
        """Forget a conversation with all branches and its trace; nothing of it stays on the disk."""
        with self._db.write() as connection:
            _require(connection, sid)
            connection.execute("DELETE FROM conversations WHERE sid = ?", (sid,))
        self._db.forget()

    def expire(self, seconds: float, but: Collection[str] = ()) -> None:
        """Forget what has not changed for so many seconds, except for the conversations of `but`."""
        with self._db.write() as connection:
            connection.execute(
                "DELETE FROM conversations WHERE updated < ? AND sid NOT IN (SELECT value FROM json_each(?))",
                (self._clock() - seconds, json.dumps(list(but))),
            )

    def make_room(self, but: str) -> bool:
        """Forget the conversation that is longest unchanged, other than `but`. Returns whether there was one."""
        with self._db.write() as connection:
            oldest = "SELECT sid FROM conversations WHERE sid != ? ORDER BY updated LIMIT 1"
            return connection.execute(f"DELETE FROM conversations WHERE sid = ({oldest})", (but,)).rowcount > 0

    def branches(self, sid: str) -> list[Branch]:
        """Its branches, oldest first."""
        return branches_of(self.load(sid))

    def switch(self, sid: str, node: int | None) -> tuple[Node, ...]:
        """Show the path to `node`, nothing for None, and return it. What was shown stays as a branch."""
        with self._db.write() as connection:
            _require(connection, sid)
            if node is not None and not _has(connection, sid, node):
                raise StoreError("The conversation has no such message; open it again from the list.")
            if node != _current(connection, sid):
                connection.execute("UPDATE conversations SET current = ? WHERE sid = ?", (node, sid))
                self._touch(connection, sid)
        return self.load(sid).path

    def save_trace(self, sid: str, data: bytes) -> None:
        """Keep a trace as `playground.exchange.trace_file` writes it, compressed, in place of the last one."""
        if not data.startswith(GZIP):
            raise StoreError("Only a compressed trace is kept.")
        if len(data) > TRACE_BYTES:
            raise StoreError(f"The trace is larger than the {TRACE_BYTES // 2**20} MiB that are kept; download it.")
        with self._db.write() as connection:
            _require(connection, sid)
            connection.execute("REPLACE INTO traces (sid, data, saved) VALUES (?, ?, ?)", (sid, data, self._clock()))

    def load_trace(self, sid: str) -> bytes | None:
        """The trace that was kept, compressed; None when there is none."""
        with self._db.read() as connection:
            _require(connection, sid)
            row = connection.execute("SELECT data FROM traces WHERE sid = ?", (sid,)).fetchone()
        return None if row is None else bytes(row[0])

    def close(self) -> None:
        """Everything is on the disk already. Harmless when closed."""
        self._db.close()

    def _touch(self, connection: sqlite3.Connection, sid: str) -> None:
        connection.execute("UPDATE conversations SET updated = ? WHERE sid = ?", (self._clock(), sid))


_GONE = "No conversation of this id is kept (any more); open one from the list."


def _place(
    connection: sqlite3.Connection, sid: str, path: Sequence[Said], current: int | None, now: float
) -> int | None:
    """Find or add each message of `path`, and return the node of the last."""
    shown = rows.ancestors(connection, sid, current)
    open_end = current if current is not None and not rows.children(connection, sid, current) else None
    parent: int | None = None
    known = True
    for said in path:
        among = rows.children(connection, sid, parent) if known else []
        node = find(said, among, shown) or grown(said, among, open_end)
        if node is None:
            known = False
            parent = rows.insert(connection, sid, parent, said, now)
            continue
        whole = merged(node.said, said)
        if whole != node.said:
            rows.update(connection, sid, node, whole)
        parent = node.id
    return parent


def _replace(connection: sqlite3.Connection, sid: str, column: str, value: str) -> None:
    connection.execute(f"UPDATE conversations SET {column} = ? WHERE sid = ? AND {column} <> ?", (value, sid, value))


def _current(connection: sqlite3.Connection, sid: str) -> int | None:
    row = connection.execute("SELECT current FROM conversations WHERE sid = ?", (sid,)).fetchone()
    if row is None:
        raise StoreError(_GONE)
    current: int | None = row[0]
    return current


def _exists(connection: sqlite3.Connection, sid: str) -> bool:
    return connection.execute("SELECT 1 FROM conversations WHERE sid = ?", (sid,)).fetchone() is not None


def _require(connection: sqlite3.Connection, sid: str) -> None:
    if not _exists(connection, check_sid(sid)):
        raise StoreError(_GONE)


def _has(connection: sqlite3.Connection, sid: str, node: object) -> bool:
    if type(node) is not int or not 0 <= node < 2**63:
        return False
    return connection.execute("SELECT 1 FROM nodes WHERE id = ? AND sid = ?", (node, sid)).fetchone() is not None


def _require_room(connection: sqlite3.Connection, sid: str) -> None:
    messages, size = connection.execute("SELECT messages, bytes FROM conversations WHERE sid = ?", (sid,)).fetchone()
    if messages > MESSAGES or size > TALK_BYTES:
        raise StoreError(
            f"The conversation has more than the {MESSAGES:,} messages or {TALK_BYTES // 2**20} MiB that are kept; "
            "begin another one."
        )


def _json(settings: Settings) -> str:
    return json.dumps(dict(settings), sort_keys=True)
