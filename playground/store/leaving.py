"""How conversations leave the store: put away for a while, or forgotten for good."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection

from playground.store.checks import check_sid
from playground.store.database import Database
from playground.store.errors import StoreError
from playground.store.present import GONE, require


class Leaving:
    """That part of a `Store`."""

    def __init__(self, db: Database, clock: Callable[[], float]) -> None:
        self._db = db
        self._clock = clock

    def delete(self, sid: str) -> None:
        """Forget a conversation, put away or not, with all branches and its trace; nothing of it stays on the disk."""
        with self._db.write() as connection:
            if not connection.execute("DELETE FROM conversations WHERE sid = ?", (check_sid(sid),)).rowcount:
                raise StoreError(GONE)
        self._db.forget()

    def put_away(self, sid: str) -> None:
        """From now on it is as if it were not there, but `bring_back` can undo that until it is forgotten."""
        with self._db.write() as connection:
            require(connection, sid)
            connection.execute("UPDATE conversations SET deleted = ? WHERE sid = ?", (self._clock(), sid))

    def bring_back(self, sid: str) -> None:
        """Undo `put_away`."""
        away = "UPDATE conversations SET deleted = NULL WHERE sid = ? AND deleted IS NOT NULL"
        with self._db.write() as connection:
            if not connection.execute(away, (check_sid(sid),)).rowcount:
                raise StoreError("The deleted conversation is gone for good already.")

    def purge(self, seconds: float = 0.0) -> bool:
        """Forget for good what was put away so many seconds ago or earlier. Returns whether there was any."""
        before = (self._clock() - seconds,)
        with self._db.read() as connection:
            if connection.execute("SELECT 1 FROM conversations WHERE deleted <= ?", before).fetchone() is None:
                return False
        with self._db.write() as connection:
            connection.execute("DELETE FROM conversations WHERE deleted <= ?", before)
        self._db.forget()
        return True

    def expire(self, seconds: float, but: Collection[str] = ()) -> None:
        """Forget what has not changed for so many seconds, except for the conversations of `but`."""
        with self._db.write() as connection:
            connection.execute(
                "DELETE FROM conversations WHERE updated < ? AND sid NOT IN (SELECT value FROM json_each(?))",
                (self._clock() - seconds, json.dumps(list(but))),
            )

    def make_room(self, but: str) -> bool:
        """Forget the conversation that is longest unchanged, other than `but`; any that was put away goes first.
        Returns whether there was one."""
        with self._db.write() as connection:
            oldest = "SELECT sid FROM conversations WHERE sid != ? ORDER BY deleted IS NULL, updated LIMIT 1"
            return connection.execute(f"DELETE FROM conversations WHERE sid = ({oldest})", (but,)).rowcount > 0
