"""Paths of messages as they are put into a tree: one of a finished turn, and one of a turn that has only begun.

What is kept of a turn under way is provisional. When the turn ends it is taken back, and what came of the turn is put
in its place in the same transaction; so it is there only for a process that ended before its turn did.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

from playground.store import rows
from playground.store.checks import CONVERSATIONS
from playground.store.errors import StoreError
from playground.store.placing import find, grown, merged
from playground.store.values import Node, Said, Settings, Talk


@dataclass(frozen=True)
class Begun:
    """What was kept of a turn under way."""

    former: int | None
    """The last message of what was shown before."""
    question: int
    """The message that is being answered."""
    added: tuple[int, ...]
    """Messages that were not there before, first to last."""
    fresh: bool = False
    """Whether the conversation itself was not."""
    answer: Node | None = None
    """What has been said of the answer."""


def insert(connection: sqlite3.Connection, sid: str, talk: Talk) -> None:
    """Add a whole conversation, which has been checked. Raises `StoreError` for one too many, or a sid that has one."""
    count = "SELECT count(*) FROM conversations WHERE deleted IS NULL"
    if connection.execute(count).fetchone()[0] >= CONVERSATIONS:
        raise StoreError(f"There are {CONVERSATIONS:,} conversations already; delete some first.")
    if connection.execute("SELECT 1 FROM conversations WHERE sid = ?", (sid,)).fetchone() is not None:
        raise StoreError("A conversation with this id is kept already.")
    connection.execute(
        "INSERT INTO conversations (sid, name, created, updated, system, settings) VALUES (?, ?, ?, ?, ?, ?)",
        (sid, talk.name, talk.created, talk.updated, talk.system, dumped(talk.settings)),
    )
    ids: dict[int | None, int | None] = {None: None}
    for node in talk.nodes:
        ids[node.id] = rows.insert(connection, sid, ids[node.parent], node.said, node.created)
    connection.execute("UPDATE conversations SET current = ? WHERE sid = ?", (ids[talk.current], sid))


def dumped(settings: Settings) -> str:
    """Settings as the table has them."""
    return json.dumps(dict(settings), sort_keys=True)


def place(
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


def begin(
    connection: sqlite3.Connection, sid: str, path: Sequence[Said], former: int | None, now: float, *, fresh: bool
) -> Begun:
    """Put the beginning of a turn in place: `path` ends with the question, or with an answer that is to go on."""
    last = connection.execute("SELECT coalesce(max(id), 0) FROM nodes").fetchone()[0]
    end = place(connection, sid, path, former, now)
    added = connection.execute("SELECT id FROM nodes WHERE sid = ? AND id > ? ORDER BY id", (sid, last)).fetchall()
    question = end if path[-1].role == "user" else _parent(connection, end)
    assert question is not None
    connection.execute("UPDATE conversations SET current = ?, answering = 1 WHERE sid = ?", (end, sid))
    return Begun(former, question, tuple(id_ for (id_,) in added), fresh)


def so_far(connection: sqlite3.Connection, sid: str, begun: Begun, text: str, now: float) -> Begun:
    """Keep what has been said of the answer, as a branch of its own: what is shown still ends as it did."""
    said = Said("assistant", text)
    if begun.answer is None:
        id_ = rows.insert(connection, sid, begun.question, said, now)
        return replace(begun, added=(*begun.added, id_), answer=Node(id_, begun.question, said, now))
    rows.update(connection, sid, begun.answer, said)
    return replace(begun, answer=replace(begun.answer, said=said))


def take_back(connection: sqlite3.Connection, sid: str, begun: Begun, *, stays: bool) -> bool:
    """As if the turn had never begun: a conversation that began with it goes too, unless it `stays` for what came of
    the turn. Returns whether it is there."""
    if begun.fresh and not stays:
        connection.execute("DELETE FROM conversations WHERE sid = ?", (sid,))
        return False
    connection.execute("UPDATE conversations SET current = ?, answering = 0 WHERE sid = ?", (begun.former, sid))
    for id_ in reversed(begun.added):
        rows.remove(connection, sid, id_)
    return True


def _parent(connection: sqlite3.Connection, node: int | None) -> int | None:
    row = connection.execute("SELECT parent FROM nodes WHERE id = ?", (node,)).fetchone()
    parent: int | None = row[0] if row else None
    return parent
