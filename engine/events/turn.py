"""What a turn asked of the model: its prompt, and its bursts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.events.base import Event, Reason, State


@dataclass(frozen=True, kw_only=True)
class TurnEvent(Event):
    """A turn begins: how much of the caches the new prompt could reuse, and why not more."""

    kind: ClassVar[str] = "turn"
    turn: int
    decision: Literal["extend", "rewind", "prime"]
    """`extend`: on top of the live caches (a first turn too); `rewind`: back to a checkpoint; `prime`: afresh."""
    prompt_tokens: int
    """Length of the whole prompt, reused part included."""
    reused: int
    """Rows kept."""
    common: int
    """Length of the common prefix of the new prompt and the session's emitted history."""
    history: int
    """Length of that emitted history."""
    dropped: int = 0
    """Overshoot tokens, never shown, that the new prompt dropped."""
    why: str = ""
    """One sentence when `decision` is not a plain extension."""
    ours: str = ""
    """The session's token piece at the first differing index, '' when there is none."""
    theirs: str = ""
    """The new prompt's token piece there."""


@dataclass(frozen=True, kw_only=True)
class PrefillEvent(Event):
    """One trunk forward of prompt rows. `len` of all prefill events == prefill forwards."""

    kind: ClassVar[str] = "prefill"
    turn: int
    burst: int
    pos: int
    tokens: int
    """Real rows written."""
    width: int
    """Columns computed, padding included."""
    ms: float
    carried: int | None = None
    """The pending token folded in as this chunk's first row, if any."""
    first: int | None = None
    """On the last chunk of a turn: the turn's first token, chosen from the last row's logits."""
    cause: Literal["turn", "reprime"] = "turn"


@dataclass(frozen=True, kw_only=True)
class BurstEvent(Event):
    """A burst ended."""

    kind: ClassVar[str] = "burst"
    turn: int
    burst: int
    max_new: int
    emitted: int
    visible: int
    overshoot: int
    reason: Reason | Literal["error"]
    """`error`: something raised after tokens were emitted; they stay."""
    ms: float
    committed: int
    """Committed length after it."""
    state: State


@dataclass(frozen=True, kw_only=True)
class OvershootEvent(Event):
    """Tokens past the budget: `kept` in the caches, `trimmed` at once, later `shown` or `dropped`."""

    kind: ClassVar[str] = "overshoot"
    action: Literal["kept", "trimmed", "shown", "dropped"]
    tokens: tuple[int, ...]
    turn: int
    pos: int
    """Committed length after the action."""
