"""The typed events of a session's trace. Panels, exports and tests read these and nothing else.

An event is frozen, has a `kind`, and gets its `seq` (0, 1, 2, ... in a session's life) and `t` (seconds since
the session began) when the trace takes it. Token ids are plain ints; `pos` is always an index into
`committed` (the number of rows before the event, unless said otherwise); `turn` counts from 0 and is -1 before
the first turn; `burst` counts from 0 over the session's life.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

Reason = Literal["stop", "length", "cancelled", "context"]
Origin = Literal["first", "draft", "bonus", "correction"]
State = Literal["FRESH", "PENDING", "PREDICTED", "FAILED"]
Mode = Literal["greedy", "rejection", "coupled"]
"""How a round chooses: argmax, speculative sampling with accept tests, or sampling with shared Gumbel noise."""
Alternatives = tuple[tuple[int, float], ...]
"""Most probable tokens of one column, best first, each with its probability."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events."""

    kind: ClassVar[str]
    seq: int = -1
    t: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON-ready plain values, `kind` included; tuples become lists."""
        out: dict[str, Any] = {"kind": self.kind}
        for key, value in asdict(self).items():
            out[key] = list(value) if isinstance(value, tuple) else value
        return out


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
class RoundEvent(Event):
    """One verify forward and what came of it."""

    kind: ClassVar[str] = "round"
    turn: int
    burst: int
    round: int
    """Counts from 0 over the session's life."""
    pos: int
    """Committed length before the round; `pending` is the token at this position."""
    pending: int
    """Column 0."""
    drafted: tuple[int, ...]
    """Columns 1..len(drafted)."""
    accepted: int
    """Leading drafts that were kept; the verdict of draft i is `i < accepted`."""
    bonus: int | None
    """The trunk's own token after the last accepted column; None when an accepted draft was a stop id."""
    emitted: int
    """Tokens given to the caller: accepted + bonus, less what a trim dropped."""
    width: int
    drafter: str
    draft_ms: float
    verify_ms: float
    accept_ms: float
    host_ms: float
    trimmed: tuple[int, ...] = ()
    """Tokens that `overshoot="trim"` dropped, in order; they are not in `emitted`."""
    room: int = 0
    """Rows of context left before the round."""
    mode: Mode = "greedy"
    sctr: int = 0
    """The session's draw counter before the round; the round used `draws` values from there."""
    draws: int = 0
    """Rejection: draft draws, then the final draw. Coupled: one per emitted token."""
    uctr: int = 0
    """The session's accept-test counter before the round; the round used `len(test_u)` values from there."""
    test_p: tuple[float, ...] = ()
    """Rejection: for each draft tested, the trunk's filtered probability of it,"""
    test_q: tuple[float, ...] = ()
    """the drafter's (1 for a deterministic drafter),"""
    test_u: tuple[float, ...] = ()
    """and the uniform: accepted if u * q < p."""
    trunk_top: tuple[Alternatives, ...] = ()
    """Per column 0..len(drafted): the trunk's alternatives for the token after it. Empty unless asked for."""
    draft_top: tuple[Alternatives, ...] = ()
    """Per draft: the drafter's alternatives. Empty unless asked for, and for drafters without probabilities."""
    graphed: bool = False
    """Whether the verify forward replayed a captured graph."""

    @property
    def correction(self) -> bool:
        """Whether `bonus` replaced a rejected draft."""
        return self.bonus is not None and self.accepted < len(self.drafted)

    def to_dict(self) -> dict[str, Any]:
        """As the base, with `correction` added."""
        return super().to_dict() | {"correction": self.correction}


@dataclass(frozen=True, kw_only=True)
class SamplingEvent(Event):
    """The settings that the tokens from here on are chosen with; appended when they change."""

    kind: ClassVar[str] = "sampling"
    mode: Mode
    seed: int | None
    """The Philox key, chosen by the user or drawn once for the session; None when nothing is drawn."""
    settings: tuple[tuple[str, float], ...]
    """The other fields of `SamplingParams`, by name."""
    pos: int
    turn: int


@dataclass(frozen=True, kw_only=True)
class DrawEvent(Event):
    """A token drawn outside a round, from a logits row at hand."""

    kind: ClassVar[str] = "draw"
    mode: Mode
    cause: Literal["first", "resume"]
    """`first`: the first token of a turn; `resume`: a burst began where a prediction stood."""
    token: int
    sctr: int
    """The draw counter before; one value was used."""
    pos: int
    turn: int


@dataclass(frozen=True, kw_only=True)
class PendingEvent(Event):
    """A transition of the pending carry.

    `carry`: a burst ended with an emitted, uncommitted token. `consume`: the next burst's first round took it as
    column 0. `promote`: a burst emitted `next_pred` and made it pending. `flush`: the token was committed by a
    prefill or by a round without drafts. `drop`: a rewind or a truncation discarded it.
    """

    kind: ClassVar[str] = "pending"
    transition: Literal["carry", "consume", "promote", "flush", "drop"]
    token: int
    pos: int
    turn: int
    burst: int
    via: Literal["round", "prefill", "rewind", "trim", "continue"]
    state: State
    """The session's state after the transition."""


@dataclass(frozen=True, kw_only=True)
class FlushEvent(Event):
    """One trunk forward that committed the pending token without drafts. `len` of these == flush forwards."""

    kind: ClassVar[str] = "flush"
    turn: int
    pos: int
    token: int
    next_pred: int
    width: int
    ms: float


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


@dataclass(frozen=True, kw_only=True)
class CheckpointEvent(Event):
    """A rewind point was taken at `pos` (rows kept by a rewind to it)."""

    kind: ClassVar[str] = "checkpoint"
    turn: int
    pos: int
    role: Literal["header", "prompt"]
    """`header`: before the live assistant header; `prompt`: at the prompt end."""
    bytes: int
    retained: tuple[int, ...]
    """All retained positions after it, ascending."""


@dataclass(frozen=True, kw_only=True)
class RewindEvent(Event):
    """Rows above `to` were dropped. `cause` says who asked."""

    kind: ClassVar[str] = "rewind"
    turn: int
    start: int
    """Committed length before."""
    to: int
    """Committed length after."""
    cause: Literal["checkpoint", "prompt", "prime", "clear", "overshoot", "stop", "unpark"]
    """`stop`: a stop string ended the answer, and what was emitted from its first token on was taken back. `unpark`: a
    sampled burst carries a flushed token again."""
    retained: tuple[int, ...]


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
