"""Made-up rounds, one attribute at a time, and a word for each id."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine import events as ev
from playground.inspector.detail import round_detail
from playground.inspector.find import Round
from playground.panels.token_text import TokenTexts
from tests.playground.words import WordTokenizer

BARE = ev.RoundEvent(
    turn=0,
    burst=0,
    round=0,
    pos=20,
    pending=1,
    drafted=(11, 12, 13),
    accepted=1,
    bonus=40,
    emitted=2,
    width=4,
    drafter="ngram",
    draft_ms=0.1,
    verify_ms=20.0,
    accept_ms=0.2,
    host_ms=0.3,
)
TEXTS = TokenTexts(WordTokenizer())


def made(**changes: Any) -> ev.RoundEvent:
    """`BARE` with changes: three drafts, the first accepted, the second corrected to 40."""
    return replace(BARE, **changes)


def detail(newer: int = 0, **changes: Any) -> dict[str, Any]:
    """What the page gets of `made(**changes)`."""
    return round_detail(Round(made(**changes), newer), TEXTS)


def fates(shown: dict[str, Any]) -> list[str]:
    return [column["fate"] for column in shown["columns"]]
