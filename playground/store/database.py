"""One SQLite file: opened with care, migrated, written in transactions, read and written from any thread.

Or none: without a path all of it is in memory, and gone when it is closed.

A file of a later version is refused and left untouched. A damaged one is moved aside, never deleted. Every failure
of SQLite leaves as one sentence.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playground.store.errors import StoreError, StoreFull
from playground.store.folder import private_file
from playground.store.schema import APPLICATION, STEPS, TABLES, Step, steps_from

BUSY_MS = 5000
"""How long to wait for another process that writes."""
CHECKED_BYTES = 256 * 2**20
"""Files up to this size are read through at each start; in larger ones damage is found when it is met."""
LARGEST_BYTES = 2 * 2**30
LARGEST_IN_MEMORY = 256 * 2**20
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SENTENCES = {
    sqlite3.SQLITE_FULL: "There is no room for more conversations: delete some, or free space on the disk.",
    sqlite3.SQLITE_BUSY: "Another program is writing the conversations; try again in a moment.",
    sqlite3.SQLITE_READONLY: "The conversations cannot be written: make their folder writable and restart Draftscope.",
    sqlite3.SQLITE_IOERR: "The disk with the conversations cannot be read or written; check it and try again.",
    sqlite3.SQLITE_TOOBIG: "That is too large to be kept.",
}
_BROKEN = "The conversations on disk are damaged; restart Draftscope, which will put the file aside and begin anew."


class Database:
    """A connection for all threads, one of them at a time. `notice` says what was put aside at the start, or ''."""

    def __init__(self, path: Path | None, steps: tuple[Step, ...] = STEPS) -> None:
        """Open or make the file; None for none.

        Raises `StoreError` when it cannot be used, `StoreTooNew` when it is of the future.
        """
        self.notice = ""
        self._path = path
        self._most = LARGEST_IN_MEMORY if path is None else LARGEST_BYTES
        self._steps = steps
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            self.close()
            if self._path is None or not _is_damage(error):
                raise _as_store_error(error) from None
            self._put_aside(self._path)
            with _sentences():
                self._open()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One consistent reading. Raises `StoreError`."""
        with _sentences(), self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is kept, or after any exception none. Raises `StoreError`."""
        with _sentences(), self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def forget(self) -> None:
        """Empty the journal, so that what was deleted is nowhere on the disk; not while another process reads."""
        with self._lock, _sentences():
            self._live().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Harmless when closed."""
        with self._lock:
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    self._connection.close()
                self._connection = None

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._live()
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")

    def _live(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError("The conversations are closed: restart Draftscope to use them.")
        return self._connection

    def _open(self) -> None:
        if self._path is not None:
            private_file(self._path)
            self._look(self._path)
        where = self._path or ":memory:"
        self._connection = connection = sqlite3.connect(where, isolation_level=None, check_same_thread=False)
        for pragma in (
            f"busy_timeout = {BUSY_MS}",
            "journal_mode = WAL",
            "synchronous = FULL",  # a turn is written once, and is then on the disk
            "foreign_keys = ON",
            "secure_delete = ON",
            "trusted_schema = OFF",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        page = int(connection.execute("PRAGMA page_size").fetchone()[0])
        connection.execute(f"PRAGMA max_page_count = {self._most // page}").fetchall()
        if self._path is not None and self._path.stat().st_size <= CHECKED_BYTES:
            _require_sound(connection)
        self._migrate()

    def _look(self, path: Path) -> None:
        """Read the version before anything could be written. Raises as `__init__` does."""
        if not path.stat().st_size:
            return
        # Without a journal to read, SQLite is told that nothing changes, and makes no files beside this one.
        journal = path.with_name(path.name + "-wal")
        still = "" if journal.exists() and journal.stat().st_size else "&immutable=1"
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{still}", uri=True)
        try:
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            owner, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS)
        finally:
            connection.close()
        if tables and owner != APPLICATION:
            raise StoreError("The file for conversations belongs to another program: set DRAFTSCOPE_DATA elsewhere.")
        steps_from(version, self._steps)

    def _migrate(self) -> None:
        with self._transaction("BEGIN IMMEDIATE") as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            for step in steps_from(version, self._steps):
                for statement in step:
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {len(self._steps)}")
            found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not found >= TABLES:
                raise _damage("tables are missing")

    def _put_aside(self, path: Path) -> None:
        aside = path.with_name(f"{path.stem}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1000:03}")
        try:
            for ending in ("", "-wal", "-shm"):
                old = path.with_name(path.name + ending)
                if old.exists():
                    old.rename(aside.with_name(aside.name + path.suffix + ending))
        except OSError as error:
            raise StoreError(
                f"The conversations on disk are damaged and could not be put aside ({error.strerror}): "
                "set DRAFTSCOPE_DATA to another folder."
            ) from None
        self.notice = (
            f"The conversations on disk were damaged; the file was put aside as {aside.name}{path.suffix} "
            "in the same folder, and a new one begun."
        )


_MARKS = ("application_id", "user_version")


def _require_sound(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise _damage("the check failed")


def _damage(why: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(why)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _is_damage(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


@contextmanager
def _sentences() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _as_store_error(error) from None


def _as_store_error(error: sqlite3.Error) -> StoreError:
    if _is_damage(error):
        return StoreError(_BROKEN)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    kind = StoreFull if code == sqlite3.SQLITE_FULL else StoreError
    return kind(_SENTENCES.get(code, "The conversations cannot be used just now; restart Draftscope."))
