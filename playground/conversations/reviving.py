"""A kept conversation comes back: what was said, what was recorded, and the settings as far as they are offered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from playground.conversation import Conversation
from playground.limits import Refused, TurnOptions, check_options
from playground.settings import Settings

if TYPE_CHECKING:
    from engine import Engine
    from playground.keeper import Keeper, Kept

RESTARTED, OPENED = "Restored after a restart", "Opened again"
CUT = "The last answer was cut off before its end, so {again}"
"""Begins the sentence about a conversation whose last turn did not live to its end."""


def revived(
    sid: str, keeper: Keeper, make: Callable[[str], Conversation], settings: Settings, engine: Engine | None
) -> Conversation | None:
    """The conversation of `sid` as it was kept, ready for its next turn; None when none is kept."""
    kept = keeper.load(sid)
    if kept is None:
        return None
    talk = make(sid)
    how = _cut(kept) if kept.talk.answering else RESTARTED if kept.talk.updated < keeper.began else OPENED
    talk.revive(kept, options_of(kept, settings), how, engine, keeper.record(sid, lost=kept.talk.answering))
    return talk


def _cut(kept: Kept) -> str:
    path = kept.talk.path
    answered = bool(path) and path[-1].said.role == "assistant"
    again = "Regenerate answers again" if answered else "Continue or Regenerate answers again"
    if any(node.parent == path[-1].id for node in kept.talk.nodes) if path else False:
        again += " (what had been said of it is a branch under Conversations)"
    return CUT.format(again=again)


def options_of(kept: Kept, settings: Settings) -> TurnOptions:
    """Its settings. A file from elsewhere may hold any, and a drafter may not be offered any more: then the app's."""
    first = TurnOptions(drafter=settings.drafter, draft_len=settings.draft_len)
    system = kept.talk.system
    try:
        return check_options(settings=settings, **{**asdict(kept.options(first)), "system": system})
    except (Refused, TypeError):
        return replace(first, system=system)
