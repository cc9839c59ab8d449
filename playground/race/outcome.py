"""What a race showed: whether the tokens are the same, how much faster it was, and where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.events import Mode
from playground.panels.token_text import Tokenizer, TokenTexts
from playground.race.cost_model import CostModel, median_round_ms
from playground.race.lane import Lane

Same = Literal["identical", "different", "distribution", "unknown"]
UNEXACT = " This engine does not claim exactness on this device, so near-ties may be decided either way."


@dataclass(frozen=True)
class Verdict:
    """Whether both lanes gave the same tokens."""

    same: Same
    sentence: str


def compare_tokens(
    plain: Lane, other: Lane, mode: Mode, tokenizer: Tokenizer | None, *, stopped: bool, exact: bool
) -> Verdict:
    """The verdict. The first difference is told with both tokens, its place counted from 1."""
    shared = min(len(plain.tokens), len(other.tokens))
    place = next((i for i in range(shared) if plain.tokens[i] != other.tokens[i]), shared)
    count = f"{place:,} token{'s' * (place != 1)}"
    if not shared:
        return Verdict("unknown", "There is nothing to compare: at least one of them has no token.")
    if mode == "rejection":
        begin = f"the first {count} are the same by chance" if place else "even the first token differs"
        return Verdict(
            "distribution",
            "Not compared token for token: rejection sampling keeps the distribution, not the text, so another drafter "
            f"gives another answer from the same seed ({begin}). Coupled sampling would give the same tokens.",
        )
    if place < shared:
        ours, theirs = _quoted(tokenizer, plain.tokens[place]), _quoted(tokenizer, other.tokens[place])
        return Verdict(
            "different",
            f"Not identical: after {count} that are, at position {place + 1:,} plain decoding gives {ours} where "
            f"speculation gives {theirs}.{'' if exact else UNEXACT}",
        )
    if stopped:
        return Verdict("identical", f"Identical so far: the first {count} of both; then the race was stopped.")
    if len(plain.tokens) != len(other.tokens):
        longer = "plain decoding" if len(plain.tokens) > shared else "speculation"
        return Verdict("different", f"Not identical: {count} are, then {longer} goes on and the other has ended.")
    return Verdict("identical", f"Identical: all {count} are the same, one for one.")


@dataclass(frozen=True)
class LaneFigures:
    """One lane in numbers. Rates are tokens a second."""

    tokens: int
    first_s: float
    """Until the first token: the prompt, and what else stands before it."""
    last_s: float
    rate: float | None
    """Of decoding: the first token and the time before it are left out."""
    whole_rate: float | None
    """With them."""
    rounds: int
    tokens_per_round: float | None
    acceptance: float | None
    width: int
    """Columns of the narrowest round."""
    rebuilt: int
    stages: dict[str, float]
    """Milliseconds by stage."""


def figures_of(lane: Lane) -> LaneFigures:
    """The numbers of a lane, finished or not."""
    rounds = lane.rounds()
    drafted = sum(len(event.drafted) for event in rounds)
    return LaneFigures(
        tokens=len(lane.tokens),
        first_s=lane.first_s,
        last_s=lane.last_s,
        rate=_over(lane.decoded, lane.last_s - lane.first_s),
        whole_rate=_over(len(lane.tokens), lane.last_s),
        rounds=len(rounds),
        tokens_per_round=_over(sum(event.emitted for event in rounds), len(rounds)),
        acceptance=_over(sum(event.accepted for event in rounds), drafted) if drafted else None,
        width=min((event.width for event in rounds), default=0),
        rebuilt=lane.rebuilt,
        stages=lane.stage_ms(),
    )


@dataclass(frozen=True)
class Outcome:
    """A race in numbers and sentences."""

    verdict: Verdict
    plain: LaneFigures
    other: LaneFigures
    speed_up: float | None
    """Of decoding, the first token left out; None where too little was measured."""
    whole_speed_up: float | None
    """With the prompt and the first token."""
    sentences: tuple[str, ...]
    """What the speed-up comes from, and what to know about it."""


def outcome_of(
    plain: Lane, other: Lane, mode: Mode, tokenizer: Tokenizer | None, *, stopped: bool, exact: bool
) -> Outcome:
    """The outcome of what was run so far."""
    verdict = compare_tokens(plain, other, mode, tokenizer, stopped=stopped, exact=exact)
    first, second = figures_of(plain), figures_of(other)
    speed_up = _ratio(second.rate, first.rate)
    return Outcome(
        verdict,
        first,
        second,
        speed_up,
        _ratio(second.whole_rate, first.whole_rate),
        tuple(_sentences(plain, other, first, second, speed_up)),
    )


def _sentences(
    plain: Lane, other: Lane, first: LaneFigures, second: LaneFigures, speed_up: float | None
) -> Sequence[str]:
    step, ms = median_round_ms(plain.rounds()), median_round_ms(other.rounds())
    if step is None or ms is None or not second.tokens_per_round:
        return ["Too few rounds were run to say where the speed comes from."]
    model = CostModel(second.tokens_per_round, step, ms, speed_up)
    out = [model.sentence(), model.reason()]
    if first.width > 1:
        out.append(
            f"Plain steps run at width {first.width} here, the narrowest at which this engine serves; an engine made "
            "for plain decoding alone can be a few per cent faster."
        )
    rebuilt = first.rebuilt + second.rebuilt
    if rebuilt:
        out.append(
            f"Rows gave way to other sessions {rebuilt} time{'s' * (rebuilt != 1)} and were computed again, off the "
            "clock; more --slots avoid it."
        )
    return out


def _quoted(tokenizer: Tokenizer | None, token: int) -> str:
    return f"token {token}" if tokenizer is None else f"“{TokenTexts(tokenizer)(token)}”"


def _over(part: float, whole: float) -> float | None:
    return part / whole if part > 0 and whole > 0 else None


def _ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b is not None and b > 0 else None
