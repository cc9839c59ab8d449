"""How many alternatives a page's rounds record: a few where that is cheap, none where it would slow a round down."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine import Engine

TOP = 4
"""Most probable tokens a column. On a CPU they cost one to three hundredths of a round of the default checkpoint."""


def recorded(engine: Engine, asked: bool | None) -> int:
    """What to set `session.alternatives` to; `asked` is the visitor's wish, None while there is none.

    A device that is read once a round would have to be read again for them, and its drafts with it: off there.
    """
    on = getattr(engine, "device_path", None) is None if asked is None else asked
    return TOP if on else 0
