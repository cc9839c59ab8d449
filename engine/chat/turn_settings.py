"""What a caller may ask of a turn, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from engine.burst_run import Overshoot
from engine.chat.stop_strings import check_stop
from engine.errors import EngineError
from engine.events import Origin
from engine.round import Observer
from engine.rules import GREEDY, Rule
from engine.sampled_burst import Verify, check_sampling, rule_for
from engine.sampling import SamplingParams

if TYPE_CHECKING:
    from engine.session import SpecSession


@dataclass(frozen=True)
class TurnDelta:
    """What a turn shows next; empty when the caller is only asked whether to go on."""

    text: str
    """Certain text: whole characters, none that could belong to a stop string."""
    tokens: list[int]
    """With stop strings, a token comes once all of its text is certain."""
    origin: list[Origin]
    """One per token."""


OnDelta = Callable[[TurnDelta], bool]


class TurnOptions(TypedDict, total=False):
    """The keywords that every call of `ChatSession` that answers takes; `TurnSettings` says what they mean."""

    burst: int
    overshoot: Overshoot
    stop: Sequence[str]
    verify: Verify
    on_tokens: OnDelta | None
    on_burst: Callable[[], None] | None
    observer: Observer | None


@dataclass(frozen=True)
class TurnSettings:
    """Budget, grouping and end of one turn. Raises `EngineError` with one sentence for a value out of range."""

    max_new: int = 256
    """Most tokens shown."""
    burst: int = 32
    """Tokens asked of the session at a time."""
    overshoot: Overshoot = "keep"
    stop: Sequence[str] = ()
    """Stop strings; see `engine.chat.stop_strings`."""
    sampling: SamplingParams | None = None
    """None is greedy."""
    verify: Verify = "rejection"
    """How sampled drafts are verified; see `engine.sampled_burst`."""
    on_tokens: OnDelta | None = field(default=None, repr=False)
    """Gets what is shown as it comes, and an empty delta before any forward and between prefill chunks; False ends the
    turn at the round edge."""
    observer: Observer | None = field(default=None, repr=False)
    """Asked before every round who is told of its stages, with what the stages before left; that one may wait."""
    on_burst: Callable[[], None] | None = field(default=None, repr=False)
    """Called between two bursts. There the drafter and its draft length may be changed, and other sessions may run."""

    def __post_init__(self) -> None:
        """Check every value."""
        for name, value in (("max_new", self.max_new), ("burst", self.burst)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise EngineError(f"{name} must be a whole number of at least 1, got {value!r}.")
        if self.overshoot not in ("keep", "trim"):
            raise EngineError(f"overshoot must be 'keep' or 'trim', got {self.overshoot!r}.")
        check_stop(self.stop)
        check_sampling(self.sampling, self.verify)

    def rule(self, session: SpecSession) -> Rule:
        """How the turn's tokens are chosen."""
        return GREEDY if self.sampling is None else rule_for(session, self.sampling, self.verify)

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings, as checked."""
        return tuple(self.stop)


def require_text(text: object) -> str:
    """`text` if it says something, else `EngineError`."""
    if not isinstance(text, str) or not text.strip():
        raise EngineError("The message is empty; write something to send.")
    return text
