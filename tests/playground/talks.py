"""Conversations to store and to export: short builders, and strategies of ordinary and of nasty ones."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from playground.store import Node, Said, Talk

SID, OTHER = "a" * 32, "b" * 32
NASTY = (
    "",
    " ",
    "%",
    "_",
    "100%_\\",
    "'; DROP TABLE nodes; --",
    "a\x00b",
    "\ud800 half",
    "```\n# out",
    "~~~~\r\n```",
    "\r",
    "\n\n",
    "<script>alert(1)</script>",
    "</pre>",
    "## User",
    "- model: x",
    "\u202egnp.exe",
    "\u2028\u2029",
    "ÄÖ straße İ",
    "\ufeff",
    '{"a": 1}',
)


def path(*texts: str, tokens: bool = False) -> list[Said]:
    """Questions and answers in turn; with `tokens`, answers have the ids of their characters."""
    out = []
    for place, text in enumerate(texts):
        ids = tuple(ord(char) for char in text) if tokens and place % 2 else None
        out.append(Said("assistant" if place % 2 else "user", text, ids))
    return out


def texts(nodes: Sequence[Node]) -> list[str]:
    return [node.said.content for node in nodes]


def said_of(nodes: Sequence[Node]) -> list[Said]:
    return [node.said for node in nodes]


any_text = st.one_of(
    st.sampled_from(NASTY),
    st.text(max_size=12),
    st.lists(st.sampled_from([*NASTY, "a", "b", "`", "\n", "~"]), max_size=5).map("".join),
)
few_texts = st.sampled_from(["", "a", "ab", "abc", "b", "a\x00"])
"""So few that paths meet, and answers go on."""


@st.composite
def paths(draw: Any, content: Any = few_texts) -> list[Said]:
    """A lawful path, its answers with or without ids."""
    out: list[Said] = []
    for place in range(draw(st.integers(0, 6))):
        text = draw(content)
        if place % 2 == 0:
            out.append(Said("user", text))
            continue
        ids = draw(st.sampled_from([None, tuple(ord(char) % 50 for char in text), (7, 8)]))
        origins = tuple("first" if i == 0 else "draft" for i in range(len(ids or ()))) if draw(st.booleans()) else ()
        drafting = draw(st.sampled_from([{}, {"drafter": "ngram", "rounds": 3, "rate": 0.5}]))
        out.append(Said("assistant", text, ids, "", origins, draw(st.sampled_from(["", "tiny"])), drafting))
    return out


setting_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(-1e9, 1e9),
    any_text,
    st.lists(any_text, max_size=3),
)
setting_maps = st.dictionaries(st.text(string.ascii_lowercase, min_size=1, max_size=8), setting_values, max_size=4)


@st.composite
def talks(draw: Any) -> Talk:
    """A lawful conversation with branches and any text in it."""
    nodes: list[Node] = []
    for number in range(draw(st.integers(0, 8))):
        parent = draw(st.sampled_from([None, *nodes])) if nodes else None
        role = "user" if parent is None or parent.said.role == "assistant" else "assistant"
        ids = draw(st.none() | st.lists(st.integers(0, 2**31 - 1), max_size=4).map(tuple))
        said = Said(role, draw(any_text), ids if role == "assistant" else None, draw(st.sampled_from(["", "end"])))
        nodes.append(Node(10 + number * 3, parent and parent.id, said, float(number)))
    current = draw(st.sampled_from([None, *(node.id for node in nodes)]))
    return Talk(draw(any_text), 1.0, 2.5, draw(any_text), draw(setting_maps), tuple(nodes), current)
