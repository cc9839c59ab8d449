"""Messages as rows of the table `nodes`, and back."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Iterable
from typing import Any

from playground.store.checks import ORIGINS, size_of
from playground.store.values import Node, Said

COLUMNS = "id, parent, role, content, tokens, rest, origins, checkpoint, drafting, created"
_BY_LETTER = {origin[0]: origin for origin in ORIGINS}


def node_of(row: tuple[Any, ...]) -> Node:
    """The node of a row of `COLUMNS`."""
    id_, parent, role, content, tokens, rest, origins, checkpoint, drafting, created = row
    said = Said(
        role=role,
        content=content,
        tokens=None if tokens is None else struct.unpack(f"<{len(tokens) // 4}i", tokens),
        rest=rest,
        origins=tuple(_BY_LETTER[letter] for letter in origins),
        checkpoint=checkpoint,
        drafting=json.loads(drafting),
    )
    return Node(id_, parent, said, created)


def insert(connection: sqlite3.Connection, sid: str, parent: int | None, said: Said, now: float) -> int:
    """Add a message behind `parent` and return its node's id."""
    row = (sid, parent, said.role, *_changing(said), now)
    cursor = connection.execute(
        "INSERT INTO nodes (sid, parent, role, content, tokens, rest, origins, checkpoint, drafting, created) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )
    assert cursor.lastrowid is not None
    count(connection, sid, 1, size_of(said))
    return cursor.lastrowid


def update(connection: sqlite3.Connection, sid: str, node: Node, said: Said) -> None:
    """Replace what a node says; its place stays."""
    connection.execute(
        "UPDATE nodes SET content = ?, tokens = ?, rest = ?, origins = ?, checkpoint = ?, drafting = ? WHERE id = ?",
        (*_changing(said), node.id),
    )
    count(connection, sid, 0, size_of(said) - size_of(node.said))


def remove(connection: sqlite3.Connection, sid: str, node: int) -> None:
    """Take a message away that nothing follows."""
    row = connection.execute(f"SELECT {COLUMNS} FROM nodes WHERE sid = ? AND id = ?", (sid, node)).fetchone()
    if row is not None:
        connection.execute("DELETE FROM nodes WHERE sid = ? AND id = ?", (sid, node))
        count(connection, sid, -1, -size_of(node_of(row).said))


def count(connection: sqlite3.Connection, sid: str, messages: int, size: int) -> None:
    """Note so many more messages and bytes."""
    connection.execute(
        "UPDATE conversations SET messages = messages + ?, bytes = bytes + ? WHERE sid = ?", (messages, size, sid)
    )


def children(connection: sqlite3.Connection, sid: str, parent: int | None) -> list[Node]:
    """What follows `parent`, oldest first; beginnings for None."""
    rows = connection.execute(f"SELECT {COLUMNS} FROM nodes WHERE sid = ? AND parent IS ? ORDER BY id", (sid, parent))
    return [node_of(row) for row in rows]


def ancestors(connection: sqlite3.Connection, sid: str, node: int | None) -> set[int]:
    """The ids from the beginning to `node`."""
    rows = connection.execute(
        "WITH RECURSIVE up (id, parent) AS (SELECT id, parent FROM nodes WHERE sid = :sid AND id = :node "
        "UNION SELECT n.id, n.parent FROM nodes n JOIN up ON n.id = up.parent AND n.sid = :sid) SELECT id FROM up",
        {"sid": sid, "node": node},
    )
    return {id_ for (id_,) in rows}


def _changing(said: Said) -> Iterable[object]:
    letters = "".join(origin[0] for origin in said.origins)
    drafting = json.dumps(dict(said.drafting), sort_keys=True)
    tokens = None if said.tokens is None else struct.pack(f"<{len(said.tokens)}i", *said.tokens)
    return said.content, tokens, said.rest, letters, said.checkpoint, drafting
