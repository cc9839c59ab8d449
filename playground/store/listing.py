"""The list of conversations, with a search that takes every character of a query as itself."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from playground.store.checks import SEARCH_CHARS, clean
from playground.store.errors import StoreError
from playground.store.values import Summary, title_of

_LIST = """
SELECT c.sid, c.name, c.created, c.updated, c.messages,
    (SELECT title_of(n.content) FROM nodes n WHERE n.sid = c.sid AND n.parent IS NULL ORDER BY n.id LIMIT 1),
    (SELECT count(*) FROM nodes n WHERE n.sid = c.sid AND n.role = 'assistant'),
    (SELECT n.checkpoint FROM nodes n WHERE n.sid = c.sid AND n.checkpoint <> '' ORDER BY n.id DESC LIMIT 1)
FROM conversations c
WHERE c.deleted IS NULL AND (:owned IS NULL OR c.sid IN (SELECT value FROM json_each(:owned)))
    AND (:search = '' OR holds(c.name, :search)
        OR EXISTS (SELECT 1 FROM nodes n WHERE n.sid = c.sid AND holds(n.content, :search)))
ORDER BY c.updated DESC, c.rowid DESC
LIMIT :limit OFFSET :offset
"""


def prepare(connection: sqlite3.Connection) -> None:
    """Teach the connection the search and the titles.

    Not LIKE: it has wildcards and folds ASCII's case alone. And not substr, which stops at a NUL as LIKE does.
    """
    connection.create_function("title_of", 1, title_of, deterministic=True)
    connection.create_function("holds", 2, _holds, deterministic=True)


def listed(
    connection: sqlite3.Connection, owned: Collection[str] | None, search: str, limit: int, offset: int
) -> list[Summary]:
    """Summaries of the conversations of `owned`, None for all, the latest changed first. Raises `StoreError`."""
    if isinstance(owned, str):
        raise StoreError("The list of conversations needs the ids that the visitor owns, not one text.")
    if not isinstance(search, str) or len(search) > SEARCH_CHARS:
        raise StoreError(f"A search is text of at most {SEARCH_CHARS} characters.")
    values = {
        "owned": None if owned is None else json.dumps([sid for sid in owned if isinstance(sid, str)]),
        "search": clean(search).casefold(),
        "limit": max(0, limit),
        "offset": max(0, offset),
    }
    return [
        Summary(sid, name, name or first or title_of(""), created, updated, messages, answers, checkpoint or "")
        for sid, name, created, updated, messages, first, answers, checkpoint in connection.execute(_LIST, values)
    ]


def _holds(text: str, folded: str) -> bool:
    return folded in text.casefold()
