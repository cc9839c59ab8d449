"""What a visitor may ask of a turn, checked before any work: each refusal is one sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from engine.chat.stop_strings import check_stop
from engine.errors import EngineError
from engine.sampling import SamplingParams
from playground.names import offered
from playground.settings import MAX_NEW, MESSAGE_CHARS, Settings
from playground.text import well_formed

Overshoot = Literal["keep", "trim"]
Verify = Literal["rejection", "coupled"]
WHOLE = ("top_k", "penalty_last_n")
"""Sampling settings that are whole numbers; a page sends 40 as 40.0."""
_ESCAPES = re.compile(r"\\([nt\\])")
_DIGITS = re.compile(r"[0-9]{1,24}")
_MEANING = {"n": "\n", "t": "\t", "\\": "\\"}


class Refused(Exception):
    """The request cannot be served; `str(error)` is one sentence for the visitor, and nothing has changed."""


@dataclass(frozen=True)
class TurnOptions:
    """Settings of one turn. `drafter` and `draft_len` are the session's own and stay until changed."""

    max_new: int = 256
    drafter: str = "ngram"
    draft_len: int = 7
    burst: int = 32
    overshoot: Overshoot = "keep"
    stop: tuple[str, ...] = ()
    """Stop strings."""
    system: str = ""
    """System message, '' for none; stays until changed."""
    temperature: float = 0.0
    """0 is greedy; this one and those that follow are fields of `SamplingParams`."""
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    penalty_last_n: int = 64
    seed: int | None = None
    """None: the session's own."""
    verify: Verify = "rejection"

    @property
    def sampling(self) -> SamplingParams:
        """How tokens are chosen. Raises `EngineError` with one sentence for a value out of range."""
        return SamplingParams(**{field.name: getattr(self, field.name) for field in fields(SamplingParams)})

    @property
    def sampled(self) -> bool:
        """Whether tokens are drawn."""
        return self.temperature > 0

    def of_turn(self, **more: Any) -> dict[str, Any]:
        """Those that a turn takes as keywords, and `more`."""
        own = {"max_new": self.max_new, "burst": self.burst, "overshoot": self.overshoot, "stop": self.stop}
        return own | {"sampling": self.sampling, "verify": self.verify} | more


OPTIONS = tuple(field.name for field in fields(TurnOptions))
"""Their names, in the order in which the page and the endpoints list them."""


def check_options(*, settings: Settings, **given: object) -> TurnOptions:
    """Settings as they came from a page or a client, by name; one that is missing has its default.

    Raises `Refused` for the first that is out of range. Only drafters the operator started the app with: a visitor's
    free choice of `model:REF` would read any folder of this machine, fetch any repository and fill its memory.
    """
    all_of: dict[str, Any] = {field.name: field.default for field in fields(TurnOptions)} | given
    name = all_of["drafter"].strip() if isinstance(all_of["drafter"], str) else ""
    known = offered(settings)
    name = known.get(name, name)
    if name not in known.values():
        raise Refused(f"Drafter must be one of {', '.join(known)}; others are chosen when the app is started.")
    if all_of["overshoot"] not in ("keep", "trim"):
        raise Refused("Overshoot must be keep or trim.")
    if all_of["verify"] not in ("rejection", "coupled"):
        raise Refused("Verify must be rejection or coupled.")
    checked = {
        "max_new": _whole("Max new tokens", all_of["max_new"], 1, MAX_NEW),
        "drafter": name,
        "draft_len": _whole("Draft length K", all_of["draft_len"], 0, settings.max_draft_len),
        "burst": _whole("Burst size", all_of["burst"], 1, MAX_NEW),
        "stop": _stop(all_of["stop"]),
        "system": _system(all_of["system"]),
        "seed": _seed(all_of["seed"]),
        **{name: _as_whole(all_of[name]) for name in WHOLE},
    }
    options = TurnOptions(**all_of | checked)
    try:
        options.sampling  # noqa: B018  # it checks itself
    except EngineError as error:
        raise Refused(str(error)) from None
    return options


def check_message(message: object) -> str:
    """The message as it will be sent. Raises `Refused` when it is not text, empty or too long."""
    if not isinstance(message, str):
        raise Refused("The message must be text.")
    if not message.strip():
        raise Refused("The message is empty; write something first.")
    if len(message) > MESSAGE_CHARS:
        raise Refused(
            f"The message has {len(message):,} characters; the most is {MESSAGE_CHARS:,}. Shorten it and send again."
        )
    return well_formed(message)


def stop_lines(text: object) -> list[str]:
    r"""Stop strings as they are written in the page: one a line; \n, \t and \\ stand for what cannot be typed there."""
    lines = [line for line in str(text or "").split("\n") if line]
    return [_ESCAPES.sub(lambda match: _MEANING[match[1]], line) for line in lines]


def stop_text(stop: Sequence[str]) -> str:
    """Stop strings as the page shows them; `stop_lines` reads them back."""
    return "\n".join(s.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t") for s in stop)


def check_number(name: str, value: object, low: int, high: int) -> int:
    """A whole number as it came from a page or a client. Raises `Refused` when it is not from `low` to `high`."""
    return _whole(name, value, low, high)


def check_position(pos: object) -> int:
    """A rewind position as it came from a client. Raises `Refused` when it is not a whole number from 0."""
    return _whole("Position", pos, 0, 2**31 - 1)


def _stop(stop: object) -> tuple[str, ...]:
    if not isinstance(stop, list | tuple):
        raise Refused("Stop strings must be a list of texts.")
    try:
        return tuple(well_formed(text) for text in check_stop(stop))
    except EngineError as error:
        raise Refused(str(error)) from None


def _system(system: object) -> str:
    if not isinstance(system, str):
        raise Refused("The system message must be text.")
    if len(system) > MESSAGE_CHARS:
        raise Refused(f"The system message has {len(system):,} characters; the most is {MESSAGE_CHARS:,}.")
    return well_formed(system) if system.strip() else ""


def _seed(seed: object) -> object:
    """A seed as a number, None for an empty box. What is no text at all is left for `SamplingParams` to refuse."""
    if not isinstance(seed, str):
        return _as_whole(seed)
    text = seed.strip()
    if text and not _DIGITS.fullmatch(text):
        raise Refused(f"Seed must be a whole number from 0 to {2**64 - 1}, or empty for a fresh one.")
    return int(text) if text else None


def _as_whole(value: object) -> object:
    """A float that is a whole number as one; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _whole(name: str, value: object, low: int, high: int) -> int:
    sentence = f"{name} must be a whole number from {low} to {high}."
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused(sentence)
    if not math.isfinite(value) or value != int(value) or not low <= value <= high:
        raise Refused(sentence)
    return int(value)
