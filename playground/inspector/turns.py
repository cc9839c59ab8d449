"""The tokens of an earlier turn, for a page that turns back to it: one turn an answer, and where to go from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from playground.panels.token_text import TokenTexts
from playground.panels.tokens_model import PastTurn, TokensModel, TurnToken

MOST = 4_096
"""Tokens of one turn that are sent: its last ones."""


def beside(model: TokensModel, number: object, step: int) -> PastTurn | None:
    """The kept turn `step` (-1 or 1) from number `number`; None is the running one, on both sides of the question."""
    kept = list(model.past.kept)
    if not isinstance(number, int):
        return kept[-1] if kept and step < 0 else None
    if step < 0:
        return next((past for past in reversed(kept) if past.number < number), kept[0] if kept else None)
    return next((past for past in kept if past.number > number), None)


def with_number(model: TokensModel, number: object) -> PastTurn | None:
    """The kept turn of this number."""
    return next((past for past in model.past.kept if past.number == number), None)


def with_round(model: TokensModel, round_: int) -> PastTurn | None:
    """The kept turn that has a token of this round; None too if the last turn has."""
    if any(token.round == round_ for token in model.tokens):
        return None
    for past in reversed(model.past.kept):
        if any(token.round == round_ for token in past.tokens):
            return past
    return None


def with_turn(model: TokensModel, turn: int) -> PastTurn | None:
    """The kept turn that the page counts as `turn`, from 0; of several the newest, and None for the last one."""
    return None if turn == model.turn else next((past for past in reversed(model.past.kept) if past.turn == turn), None)


def token_at(model: TokensModel, number: object, place: object) -> tuple[int, TurnToken] | None:
    """Turn and token at `place` of the kept turn `number`, or of the last turn for None."""
    past = with_number(model, number)
    turn, tokens = (model.turn, model.tokens) if past is None else (past.turn, past.tokens)
    if (number is not None and past is None) or not isinstance(place, int) or not 0 <= place < len(tokens):
        return None
    return turn, tokens[place]


def turn_reply(model: TokensModel, past: PastTurn | None, texts: TokenTexts) -> dict[str, Any]:
    """What a page needs to show that turn; for the last one only that it is that, its tokens are there already."""
    kept = list(model.past.kept)
    if past is None:
        return {"number": None, "turn": model.turn, "older": bool(kept)}
    first = max(0, len(past.tokens) - MOST)
    return {
        "number": past.number,
        "turn": past.turn,
        "gone": past.gone,
        "older": past.number > kept[0].number,
        "later": sum(1 for other in kept if other.number > past.number and not other.gone),
        "first": first,
        "tokens": [token.wire() for token in past.tokens[first:]],
        "texts": {str(token): texts(token) for token in _ids(past.tokens[first:])},
    }


def _ids(tokens: Sequence[TurnToken]) -> list[int]:
    return sorted({token.id for token in tokens})
