"""Drafters: what proposes tokens. `make_drafter` turns a name into a fresh one for a session."""

from __future__ import annotations

from engine.drafters.ngram import NgramDrafter
from engine.drafters.none import NoDrafter
from engine.drafters.protocol import Drafter
from engine.errors import DrafterMismatch

AVAILABLE = ("none", "ngram")
_LATER = ("mtp", "auto", "model:", "eagle3:")

__all__ = ["AVAILABLE", "Drafter", "NgramDrafter", "NoDrafter", "make_drafter"]


def make_drafter(name: str | Drafter) -> Drafter:
    """A drafter from its name, or the given object.

    Raises:
        DrafterMismatch: the name is unknown, or names a kind this version does not have yet.
    """
    if not isinstance(name, str):
        if not isinstance(name, Drafter):
            raise DrafterMismatch(f"A {type(name).__name__} is not a drafter; see engine.drafters.protocol.Drafter.")
        return name
    if name == "none":
        return NoDrafter()
    if name == "ngram":
        return NgramDrafter()
    if name.startswith(_LATER):
        raise DrafterMismatch(
            f"Drafter {name!r} is not available in this version; choose one of {', '.join(AVAILABLE)}."
        )
    raise DrafterMismatch(f"There is no drafter {name!r}; choose one of {', '.join(AVAILABLE)}.")
