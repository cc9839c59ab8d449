"""What may be read of a conversation at any time: plain frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from engine.events import Reason
    from playground.stepping import Waiting

Phase = Literal["idle", "waiting", "prefill", "decoding", "checking"]
Message = tuple[str, str]
"""Role (`user` or `assistant`) and text."""


@dataclass(frozen=True)
class Outcome:
    """How the last turn ended."""

    reason: Reason
    tokens: int
    """Tokens it showed."""
    hidden: int
    """Overshoot tokens in the caches, not shown."""
    tok_s: float | None
    seed: int | None = None
    """What its random numbers came from; None when its tokens were chosen greedily."""


@dataclass(frozen=True)
class View:
    """A consistent reading of a conversation; `version` changes whenever anything a page shows may have."""

    version: int = 0
    messages: tuple[Message, ...] = ()
    running: bool = False
    phase: Phase = "idle"
    can_continue: bool = False
    tok_s: float | None = None
    notice: str = ""
    """The last refusal or error, one sentence, or ''."""
    unkept: str = ""
    """Why what was said is not kept, one sentence, or ''."""
    outcome: Outcome | None = None
    waiting: Waiting | None = None
    """Where a turn in step mode waits for its visitor."""
    checked: tuple[int, int] | None = None
    """Tokens compared and tokens in all, while a check runs."""
