"""The public side of the store: conversations by session id, each a tree of messages with one path shown.

Whoever knows a conversation's sid may open it, as in the app's registry; so a list is made for the sids that a visitor
names, and for all only where there is one local user. Every method may be called from any thread, is one transaction,
and raises `StoreError`, with nothing changed, for what is not there, does not fit, or cannot be written.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from playground.store import rows
from playground.store.branches import Branch, branches_of
from playground.store.checks import (
    check_name,
    check_path,
    check_said,
    check_settings,
    check_sid,
    check_system,
    check_talk,
    clean,
)
from playground.store.database import Database
from playground.store.errors import StoreError
from playground.store.folder import FILE, data_folder
from playground.store.listing import listed, prepare
from playground.store.paths import Begun, begin, dumped, insert, place, so_far, take_back
from playground.store.present import GONE, current_of, exists, has, require, require_room
from playground.store.traces import Traces, write_books
from playground.store.values import Node, Said, Settings, Summary, Talk


def open_store(folder: Path | str | None = None) -> Store:
    """The store in `folder`, in `DRAFTSCOPE_DATA`, or in the user's data folder. Raises `StoreError`, `StoreTooNew`."""
    return Store(data_folder(folder) / FILE)


class Store(Traces):
    """Conversations in one file, or in memory where there is no path.

    `notice` is a sentence for the user when a damaged file was put aside, or ''.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time) -> None:
        super().__init__(Database(path), clock)
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
            insert(connection, sid, talk)

    def __contains__(self, sid: str) -> bool:
        with self._db.read() as connection:
            return exists(connection, check_sid(sid))

    def save_path(
        self,
        sid: str,
        path: Sequence[Said],
        *,
        system: str | None = None,
        settings: Settings | None = None,
        instead: Begun | None = None,
        books: Mapping[str, Any] | None = None,
        anew: bool = False,
    ) -> int | None:
        """Make `path` what the conversation shows, and return its last node, None for an empty path.

        What is there already is found again; the rest becomes a new branch, so that nothing said before is lost. An
        answer that was continued grows in its place. `system` and `settings`, where given, replace the old ones.
        Saving the same again changes nothing. `instead`: what was kept of the turn meanwhile is taken back first, and
        the conversation with it if it began with that turn and nothing came of it. `books`: how the session stands
        then, for another one to go on; `anew`: the trace that is kept is not its own, and goes.
        """
        check_sid(sid)
        path = check_path(path)
        with self._db.write() as connection:
            before = connection.total_changes
            require(connection, sid)
            if instead is not None and not take_back(connection, sid, instead, stays=bool(path)):
                return None
            old = current_of(connection, sid)
            node = place(connection, sid, path, old, self._clock())
            if node != old:
                connection.execute("UPDATE conversations SET current = ? WHERE sid = ?", (node, sid))
            connection.execute("UPDATE conversations SET answering = 0 WHERE sid = ? AND answering", (sid,))
            if system is not None:
                _replace(connection, sid, "system", check_system(system))
            if settings is not None:
                _replace(connection, sid, "settings", dumped(check_settings(settings)))
            if connection.total_changes != before:
                self._touch(connection, sid)
            if books is not None:
                write_books(connection, sid, books, anew=anew)
            require_room(connection, sid)
        return node

    def begin(self, sid: str, path: Sequence[Said], *, system: str, settings: Settings) -> Begun:
        """A turn begins: keep `path`, which ends with its question or with the answer that is to go on, and the
        conversation itself if it is new. `save_path` puts what came of the turn in the place of it."""
        check_sid(sid)
        path = check_path(path)
        if not path:
            raise StoreError("A turn needs a message.")
        with self._db.write() as connection:
            fresh = not exists(connection, sid)
            if fresh:
                insert(connection, sid, Talk(created=self._clock(), updated=self._clock()))
            former = current_of(connection, sid)
            begun = begin(connection, sid, path, former, self._clock(), fresh=fresh)
            _replace(connection, sid, "system", check_system(system))
            _replace(connection, sid, "settings", dumped(check_settings(settings)))
            self._touch(connection, sid)
            require_room(connection, sid)
        return begun

    def so_far(self, sid: str, begun: Begun, text: str) -> Begun:
        """Keep what has been said of a turn's answer, as a branch: what is shown still ends with the question."""
        check_said(Said("assistant", text))
        with self._db.write() as connection:
            require(connection, sid)
            begun = so_far(connection, sid, begun, clean(text), self._clock())
            require_room(connection, sid)
        return begun

    def take_back(self, sid: str, begun: Begun) -> None:
        """A turn ended before it could begin: as if nothing of it had been kept."""
        with self._db.write() as connection:
            require(connection, sid)
            take_back(connection, sid, begun, stays=False)

    def name_of(self, sid: str) -> str:
        """Its name alone, '' where it has none or is not kept."""
        with self._db.read() as connection:
            row = connection.execute(
                "SELECT name FROM conversations WHERE sid = ? AND deleted IS NULL", (check_sid(sid),)
            ).fetchone()
        return "" if row is None else str(row[0])

    def summary_of(self, sid: str) -> Summary:
        """Its line of the list."""
        with self._db.read() as connection:
            require(connection, sid)
            return listed(connection, [sid], "", 1, 0)[0]

    def load(self, sid: str) -> Talk:
        """The whole conversation; `Talk.path` is what it shows."""
        check_sid(sid)
        with self._db.read() as connection:
            row = connection.execute(
                "SELECT name, created, updated, system, settings, current, answering FROM conversations "
                "WHERE sid = ? AND deleted IS NULL",
                (sid,),
            ).fetchone()
            if row is None:
                raise StoreError(GONE)
            found = connection.execute(f"SELECT {rows.COLUMNS} FROM nodes WHERE sid = ? ORDER BY id", (sid,))
            nodes = tuple(rows.node_of(item) for item in found)
        name, created, updated, system, settings, current, answering = row
        return Talk(name, created, updated, system, json.loads(settings), nodes, current, bool(answering))

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
            require(connection, sid)
            _replace(connection, sid, "name", name)
            self._touch(connection, sid)

    def branches(self, sid: str) -> list[Branch]:
        """Its branches, oldest first."""
        return branches_of(self.load(sid))

    def switch(self, sid: str, node: int | None) -> tuple[Node, ...]:
        """Show the path to `node`, nothing for None, and return it. What was shown stays as a branch."""
        with self._db.write() as connection:
            require(connection, sid)
            if node is not None and not has(connection, sid, node):
                raise StoreError("The conversation has no such message; open it again from the list.")
            if node != current_of(connection, sid):
                connection.execute("UPDATE conversations SET current = ? WHERE sid = ?", (node, sid))
                self._touch(connection, sid)
        return self.load(sid).path

    def close(self) -> None:
        """Everything is on the disk already. Harmless when closed."""
        self._db.close()

    def _touch(self, connection: sqlite3.Connection, sid: str) -> None:
        connection.execute("UPDATE conversations SET updated = ? WHERE sid = ?", (self._clock(), sid))


def _replace(connection: sqlite3.Connection, sid: str, column: str, value: str) -> None:
    connection.execute(f"UPDATE conversations SET {column} = ? WHERE sid = ? AND {column} <> ?", (value, sid, value))
