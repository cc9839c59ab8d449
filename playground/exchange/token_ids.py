"""Which token ids an event names, so that a file can carry their texts and a reader can check them."""

from __future__ import annotations

from collections.abc import Iterator

from engine import events as ev

FIELDS: dict[str, tuple[str, ...]] = {
    "prefill": ("carried", "first"),
    "round": ("pending", "drafted", "bonus", "trimmed"),
    "draw": ("token",),
    "pending": ("token",),
    "flush": ("token", "next_pred"),
    "overshoot": ("tokens",),
    "check": ("expected", "actual"),
}
"""By kind of event: the fields that hold an id, None, or several ids."""


def ids_of(event: ev.Event) -> Iterator[int]:
    """The ids an event names, alternatives included."""
    for name in FIELDS.get(event.kind, ()):
        value = getattr(event, name)
        if isinstance(value, tuple):
            yield from value
        elif value is not None:
            yield value
    if isinstance(event, ev.RoundEvent):
        for column in (*event.trunk_top, *event.draft_top):
            yield from (token for token, _ in column)
