"""What befalls a session: drafter, context, checks, errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.events.base import Event, State


@dataclass(frozen=True, kw_only=True)
class DrafterEvent(Event):
    """The drafter or its draft length changed, or drafting stopped or became cold; `why` says so in a sentence."""

    kind: ClassVar[str] = "drafter"
    drafter: str
    draft_len: int
    action: Literal["set", "cold", "limit"]
    pos: int
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class ContextEvent(Event):
    """The context clamped the drafts or ended a burst, or the session's rows were evicted or re-primed."""

    kind: ClassVar[str] = "context"
    action: Literal["clamped", "full", "evicted", "reprimed"]
    used: int
    max_ctx: int


@dataclass(frozen=True, kw_only=True)
class CheckEvent(Event):
    """Outcome of an exactness check: identical, or the first difference with both tokens and the logit gap."""

    kind: ClassVar[str] = "check"
    identical: bool
    tokens: int
    index: int | None = None
    expected: int | None = None
    actual: int | None = None
    gap: float | None = None
    cancelled: bool = False
    """The check was stopped after `tokens` identical ones."""
    drawn: int = 0
    """Tokens passed over because accept tests chose them: plain sampling has their distribution, not their values."""


@dataclass(frozen=True, kw_only=True)
class ErrorEvent(Event):
    """A call failed; the state is the one before it unless `state` says FAILED."""

    kind: ClassVar[str] = "error"
    where: str
    message: str
    state: State
