"""Acceptance: pure functions from drafts and the trunk's own choices to what a round emits and keeps.

Terms (column 0 is the pending token, columns 1.. are the drafts):
    choice[c]  the trunk's argmax after column c, for c = 0 .. len(drafts)
    accepted   the number of leading drafts i with draft[i] == choice[i]
    bonus      choice[accepted]; after a rejection it is the correction
(Leviathan, Kalman and Matias 2023, section 2, at temperature 0.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from engine.events import Origin


@dataclass(frozen=True)
class Outcome:
    """What one round emits, and what becomes of the columns."""

    accepted: int
    """Leading drafts that were right. A stop id ends the count: drafts after it do not count."""
    tokens: tuple[int, ...]
    """Emitted, in order."""
    origin: tuple[Origin, ...]
    bonus: int | None
    """None when an accepted draft was a stop id."""
    rows: int
    """Columns whose rows stay: column 0 and the emitted tokens that are committed."""
    pending: int | None
    """The last emitted token, carried without a row; None after a trim."""
    next_pred: int | None = None
    """After a trim: the first token dropped, which is the prediction after the last row."""
    trimmed: tuple[int, ...] = ()
    stopped: bool = False
    """The last emitted token is a stop id."""


def accept_greedy(drafts: Sequence[int], choices: Sequence[int], stop_ids: Collection[int]) -> Outcome:
    """Accept the longest prefix of `drafts` that equals the trunk's choices.

    Args:
        drafts: n proposals. choices: n + 1 argmaxes, one per column. stop_ids: tokens that end a turn.

    The last emitted token never keeps a row, whether it is the bonus or an accepted stop id: it becomes the pending
    token, so that every turn ends PENDING.
    """
    assert len(choices) == len(drafts) + 1
    accepted = 0
    while accepted < len(drafts) and drafts[accepted] == choices[accepted]:
        accepted += 1
    return outcome_of(drafts, accepted, choices[accepted], stop_ids)


def outcome_of(drafts: Sequence[int], accepted: int, bonus: int, stop_ids: Collection[int]) -> Outcome:
    """What becomes of a round whose first `accepted` drafts are right, followed by the trunk's own `bonus`.

    An accepted stop id ends the round: what follows it, the bonus too, does not count.
    """
    stop = next((i for i in range(accepted) if drafts[i] in stop_ids), None)
    if stop is not None:
        tokens = tuple(drafts[: stop + 1])
        return Outcome(stop + 1, tokens, _drafts(stop + 1), None, stop + 1, tokens[-1], stopped=True)
    tokens = (*drafts[:accepted], bonus)
    last: Origin = "bonus" if accepted == len(drafts) else "correction"
    return Outcome(accepted, tokens, (*_drafts(accepted), last), bonus, accepted + 1, bonus, stopped=bonus in stop_ids)


def _drafts(count: int) -> tuple[Origin, ...]:
    one: Origin = "draft"
    return (one,) * count


def trim(outcome: Outcome, limit: int) -> Outcome:
    """Drop the tokens past `limit` (at least 1) before they are emitted.

    The last kept token is then an accepted draft and keeps its row; the first dropped one becomes `next_pred`.
    """
    assert limit >= 1
    if limit >= len(outcome.tokens):
        return outcome
    return replace(
        outcome,
        tokens=outcome.tokens[:limit],
        origin=outcome.origin[:limit],
        rows=limit + 1,
        pending=None,
        next_pred=outcome.tokens[limit],
        trimmed=outcome.tokens[limit:],
        stopped=False,
    )
