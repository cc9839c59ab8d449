"""The branches of a conversation as a page shows them: nested, each with the beginning of its message for a name."""

from __future__ import annotations

from typing import Any

from playground.store import Branch, Talk, branches_of

DEEPEST = 40
"""Branches of branches that are nested; JSON, which has a bound, and a narrow page bear no more. Deeper ones stand
beside the branch that they leave."""


def tree_of(talk: Talk) -> list[dict[str, Any]]:
    """Branches, each with those that leave it.

    `node` is what to switch to; `after` the number of messages before it leaves the other; `messages` what one would
    see; `shown` how many of its path one sees now, for the branch that is shown.
    """
    branches, shown = branches_of(talk), len(talk.path)
    roots: list[dict[str, Any]] = []
    places: dict[int | None, tuple[int, list[dict[str, Any]]]] = {None: (0, roots)}
    for branch in branches:
        line = _line(branch, shown)
        depth, place = places[branch.of]
        place.append(line)
        places[branch.number] = (depth + 1, line["below"]) if depth + 1 < DEEPEST else (depth, place)
    return roots


def _line(branch: Branch, shown: int) -> dict[str, Any]:
    return {
        "node": branch.leaf,
        "label": branch.label,
        "after": branch.messages - len(branch.nodes),
        "messages": branch.messages,
        "current": branch.current,
        "shown": shown if branch.current else None,
        "below": [],
    }
