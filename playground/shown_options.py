"""The settings of a turn as the page's controls show them."""

from __future__ import annotations

from typing import Any

from playground.limits import OPTIONS, TurnOptions, stop_text
from playground.names import public_name
from playground.sampling_controls import shown_temperature


def shown_options(options: TurnOptions) -> tuple[Any, ...]:
    """In the order in which the page lists its controls: that of `OPTIONS`."""
    shown = {name: getattr(options, name) for name in OPTIONS}
    shown["drafter"] = public_name(options.drafter)
    shown["stop"] = stop_text(options.stop)
    shown["seed"] = "" if options.seed is None else str(options.seed)
    return tuple(shown.values())


def on_controls(options: TurnOptions) -> tuple[Any, ...]:
    """As `shown_options`, with the room that a control needs for its value."""
    shown = dict(zip(OPTIONS, shown_options(options), strict=True))
    shown["temperature"] = shown_temperature(options.temperature)
    return tuple(shown.values())
