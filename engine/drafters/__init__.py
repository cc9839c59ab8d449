"""Drafters: what proposes tokens. `make_drafter` turns a name into a fresh one for a session."""

from __future__ import annotations

from engine.drafters.ngram import NgramDrafter
from engine.drafters.none import NoDrafter
from engine.drafters.protocol import Drafter
from engine.errors import DrafterMismatch

AVAILABLE = ("none", "ngram")
MODEL = "model:"
_LATER = ("mtp", "auto", "eagle3:")

__all__ = ["AVAILABLE", "MODEL", "Drafter", "NgramDrafter", "NoDrafter", "check_name", "make_drafter"]


def make_drafter(name: str | Drafter) -> Drafter:
    """A drafter from its name, or the given object.

    Raises:
        DrafterMismatch: the name is unknown, or names a kind this version does not have yet.
    """
    check_name(name)
    if not isinstance(name, str):
        return name
    if name == "none":
        return NoDrafter()
    if name == "ngram":
        return NgramDrafter()
    raise DrafterMismatch(f"{name} needs a model to load; ask the engine for it with Engine.make_drafter.")


def check_name(name: str | Drafter) -> None:
    """Raise DrafterMismatch unless this is a drafter, or a name that this version can serve; loads nothing."""
    if not isinstance(name, str):
        if not isinstance(name, Drafter):
            raise DrafterMismatch(f"A {type(name).__name__} is not a drafter; see engine.drafters.protocol.Drafter.")
        return
    if name in AVAILABLE or (name.startswith(MODEL) and len(name) > len(MODEL)):
        return
    choices = f"{', '.join(AVAILABLE)} or {MODEL}REF"
    if name.startswith(_LATER):
        raise DrafterMismatch(f"Drafter {name!r} is not available in this version; choose {choices}.")
    raise DrafterMismatch(f"There is no drafter {name!r}; choose {choices}.")
