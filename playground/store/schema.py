"""The tables, as steps from one version to the next; the file's `user_version` counts the steps it has taken.

A step, once released, is never edited: a change is a new step at the end.
"""

from __future__ import annotations

from playground.store.errors import StoreTooNew

APPLICATION = 0x44534350
"""`application_id` of our files: the letters DSCP."""
TABLES = frozenset({"conversations", "nodes", "traces"})
Step = tuple[str, ...]

STEPS: tuple[Step, ...] = (
    (
        """CREATE TABLE conversations (
            sid TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            system TEXT NOT NULL,
            settings TEXT NOT NULL,
            current INTEGER,
            messages INTEGER NOT NULL DEFAULT 0,
            bytes INTEGER NOT NULL DEFAULT 0
        )""",
        # `parent` has no foreign key: a cascade along a long conversation would pass SQLite's depth of triggers.
        """CREATE TABLE nodes (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            sid TEXT NOT NULL REFERENCES conversations (sid) ON DELETE CASCADE,
            parent INTEGER,
            role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
            content TEXT NOT NULL,
            tokens BLOB,
            rest TEXT NOT NULL,
            origins TEXT NOT NULL,
            checkpoint TEXT NOT NULL,
            drafting TEXT NOT NULL,
            created REAL NOT NULL
        )""",
        "CREATE INDEX nodes_by_place ON nodes (sid, parent)",
        "CREATE INDEX conversations_by_time ON conversations (updated)",
        """CREATE TABLE traces (
            sid TEXT PRIMARY KEY REFERENCES conversations (sid) ON DELETE CASCADE,
            data BLOB NOT NULL,
            saved REAL NOT NULL
        )""",
    ),
    (
        # When it was put away, in seconds since 1970, and whether a turn of it is under way.
        "ALTER TABLE conversations ADD COLUMN deleted REAL",
        "ALTER TABLE conversations ADD COLUMN answering INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX conversations_by_deletion ON conversations (deleted) WHERE deleted IS NOT NULL",
    ),
    (
        # A trace grows with every turn: it is kept in parts, so that a turn writes no more than its own events.
        "DROP TABLE traces",
        """CREATE TABLE traces (
            sid TEXT NOT NULL REFERENCES conversations (sid) ON DELETE CASCADE,
            first INTEGER NOT NULL,
            past INTEGER NOT NULL,
            data BLOB NOT NULL,
            saved REAL NOT NULL,
            PRIMARY KEY (sid, first)
        )""",
        # Where the session stood when the messages were saved, as JSON; '' where that is not known.
        "ALTER TABLE conversations ADD COLUMN books TEXT NOT NULL DEFAULT ''",
    ),
)


def steps_from(version: int, steps: tuple[Step, ...] = STEPS) -> tuple[Step, ...]:
    """The steps a file of `version` has still to take. Raises `StoreTooNew` when it has taken more than are known."""
    if version > len(steps):
        raise StoreTooNew(
            f"The conversations on disk are of a later version ({version}; this program knows {len(steps)}) and were "
            "left as they are: update Draftscope, or set DRAFTSCOPE_DATA to another folder."
        )
    return steps[version:]
