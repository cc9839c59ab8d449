"""From passes to figures: medians and spread over the repeats, for one group of conversations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

from benchmarks.cost_model import CostModel
from benchmarks.measure import Passes
from benchmarks.passes import Pass
from engine import SpecTelemetry

Repeats = list[list[Pass]]
"""One arm's passes over a group: by repeat, then by conversation."""


@dataclass(frozen=True)
class Spread:
    """A figure over the repeats."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Raises StatisticsError when there are none."""
        return cls(median(values), min(values), max(values))


def group_figures(passes: Passes, names: Collection[str]) -> list[dict[str, Any]]:
    """One row per arm for the conversations `names`, JSON-ready, with ratios to the transformers arms present.

    Speeds of a group are its tokens over its seconds, so slow conversations weigh more. Ratios are taken repeat by
    repeat, then their median. `lookup` is the fastest lookup arm.
    """
    arms = {arm: [[repeat[name] for name in names] for repeat in repeats] for arm, repeats in passes.items()}
    plain = arms.get("plain")
    return [
        _own(arm, repeats)
        | {
            "vs_generate": _ratios(repeats, arms.get("generate")),
            "vs_lookup": _ratios(repeats, _fastest_lookup(arms)),
            "cost_model": None if plain is None else _cost(repeats, plain),
            "same_text_as_plain": None if plain is None else _agreement(repeats, plain),
        }
        for arm, repeats in arms.items()
    ]


def decode_speed(passes: Sequence[Pass]) -> float:
    """Tokens per second after each turn's first."""
    turns = [turn for one in passes for turn in one.turns]
    return sum(turn.decode_tokens for turn in turns) / sum(turn.decode_seconds for turn in turns)


def whole_speed(passes: Sequence[Pass]) -> float:
    """Tokens per second of whole conversations, prompts included."""
    turns = [turn for one in passes for turn in one.turns]
    return sum(len(turn.tokens) for turn in turns) / sum(turn.seconds for turn in turns)


def first_token_ms(passes: Sequence[Pass], turn: int) -> float:
    """Time to the first token of turn `turn` (from 0), the mean over the conversations."""
    return 1e3 * fmean(one.turns[turn].first_seconds for one in passes)


def _own(arm: str, repeats: Repeats) -> dict[str, Any]:
    first = repeats[0]  # counts are the same in each: decoding is greedy
    telem = SpecTelemetry()
    for one in first:
        telem = telem.merge(one.telem)
    decoding = sum(one.forwards - one.prefills for one in first)
    return {
        "arm": arm,
        "decode_tokens_per_s": _spread(decode_speed, repeats),
        "conversation_tokens_per_s": _spread(whole_speed, repeats),
        "first_token_ms": [
            asdict(Spread.of([first_token_ms(passes, turn) for passes in repeats]))
            for turn in range(len(first[0].turns))
        ],
        "tokens": sum(len(tokens) for one in first for tokens in one.tokens),
        "tokens_per_round": sum(turn.decode_tokens for one in first for turn in one.turns) / decoding,
        "acceptance": telem.draft_acceptance_rate if telem.drafted else None,
        **{
            count: sum(getattr(one, count) for one in first)
            for count in ("forwards", "draft_forwards", "rounds", "prefills", "flushes")
        },
        "round_ms": _round_split(repeats),
        "telemetry": telem.to_dict(),
    }


def _spread(figure: Callable[[Sequence[Pass]], float], repeats: Repeats) -> dict[str, float]:
    return asdict(Spread.of([figure(passes) for passes in repeats]))


def _round_split(repeats: Repeats) -> dict[str, float] | None:
    """Milliseconds of a round, median of each part and of the whole; None for transformers."""
    splits = [split for passes in repeats for one in passes for split in one.splits]
    if not splits:
        return None
    return {part: median(getattr(s, part) for s in splits) for part in ("draft", "verify", "accept", "host", "total")}


def _ratios(repeats: Repeats, base: Repeats | None) -> dict[str, Any] | None:
    """Speeds as multiples of the base's, and times to the first token as fractions of its."""
    if base is None:
        return None
    pairs = list(zip(repeats, base, strict=True))
    return {
        "decode": asdict(Spread.of([decode_speed(a) / decode_speed(b) for a, b in pairs])),
        "conversation": asdict(Spread.of([whole_speed(a) / whole_speed(b) for a, b in pairs])),
        "first_token": [
            median(first_token_ms(a, turn) / first_token_ms(b, turn) for a, b in pairs)
            for turn in range(len(base[0][0].turns))
        ],
    }


def _fastest_lookup(arms: dict[str, Repeats]) -> Repeats | None:
    lookups = [repeats for arm, repeats in arms.items() if arm.startswith("lookup-")]
    return max(lookups, key=lambda repeats: median(map(decode_speed, repeats)), default=None)


def _cost(repeats: Repeats, plain: Repeats) -> dict[str, float] | None:
    split, step = _round_split(repeats), _round_split(plain)
    if split is None or step is None:
        return None
    rounds = sum(one.rounds for one in repeats[0])
    tokens = sum(turn.decode_tokens for one in repeats[0] for turn in one.turns)
    measured = median(decode_speed(a) / decode_speed(b) for a, b in zip(repeats, plain, strict=True))
    return CostModel(tokens / rounds, step["total"], split["total"], measured).to_dict()


def _agreement(repeats: Repeats, plain: Repeats) -> str:
    """`n/m` conversations with the very tokens of the plain arm, in every repeat."""
    same = [
        all(a[i].tokens == b[i].tokens for a, b in zip(repeats, plain, strict=True)) for i in range(len(repeats[0]))
    ]
    return f"{sum(same)}/{len(same)}"
