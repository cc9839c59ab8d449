"""One page follows one conversation: one call at a time shows it, the latest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from playground.viewer import Shown, Viewer, Watch

if TYPE_CHECKING:
    from playground.conversation import Conversation
    from playground.service import Service

TICK_S = 0.1
"""Seconds between two updates of a page: no more than ten a second, whatever the engine does."""
MOST = 16
"""Pages that one conversation remembers; the one that followed longest ago is shown everything anew."""
ALONE_S = 180.0
"""A page asks for news when none comes. After so long without, nobody is there to be shown any."""


async def following(
    service: Service, conversation: Conversation, page: str, *, once: bool = False
) -> AsyncIterator[Shown]:
    """Show the conversation to `page`, a Gradio session, until nothing more will change, or `once`.

    A newer call of the same page takes over what it has been shown, and the older one ends at its next tick. So a short
    one ends a long one.
    """
    call, seen = object(), None
    # Taken out and put in again: the order tells who came last.
    known = conversation.viewers.pop(page, None)
    viewer = known.viewer if known else Viewer(service, conversation)
    conversation.viewers[page] = Watch(viewer, call)
    viewer.begin()
    for silent in list(conversation.viewers)[:-MOST]:
        conversation.viewers.pop(silent, None)
    while (watch := conversation.viewers.get(page)) and watch.call is call:
        # Read before showing: a change in between is shown at the next tick rather than missed.
        mark, done = viewer.mark(), viewer.done()
        if mark != seen:
            seen = mark
            for shown in await asyncio.to_thread(lambda: list(viewer.show())):
                if page not in conversation.viewers:
                    return
                yield shown
        elif time.monotonic() - conversation.touched > ALONE_S:
            return
        if done or once:
            return
        await asyncio.sleep(TICK_S)
