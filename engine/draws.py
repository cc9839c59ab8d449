"""Tokens chosen outside a round: the first of an answer, and where a burst begins at a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from engine.events import DrawEvent, SamplingEvent
from engine.rules.protocol import Choose

if TYPE_CHECKING:
    from engine.rules import Rule
    from engine.session import SpecSession


def first_choice(session: SpecSession, rule: Rule, suffix: Sequence[int]) -> Choose:
    """Chooses the first token of an answer from the last prompt row. Changes nothing; `note_draw` counts."""
    context = [*session.history, *suffix] if rule.needs_context else []
    index = rule.start(session.sctr)
    return lambda logits: rule.choose(logits, context, index)


def resume_choice(session: SpecSession, rule: Rule, *, begins: bool) -> tuple[int, bool]:
    """The token after the last row of a PREDICTED session, and whether it had to be drawn.

    `begins`: it is an answer's first. The stored logits row decides; a token that this rule drew for this place
    before, and that was trimmed, stays the one.
    """
    assert session.last_logits is not None and session.next_pred is not None
    if not rule.draws and not rule.needs_context:
        return session.next_pred, False
    if session.drawn is not None and session.drawn[0] == rule:
        return session.drawn[1], False
    context = session.history if rule.needs_context else []
    index = rule.start(session.sctr) if begins else session.sctr
    return rule.choose(session.last_logits, context, index), rule.draws


def note_draw(session: SpecSession, rule: Rule, token: int, cause: Literal["first", "resume"]) -> None:
    """Count one draw outside a round and note it; nothing for a rule that does not draw."""
    if not rule.draws:
        return
    at = rule.start(session.sctr) if cause == "first" else session.sctr
    session.trace.append(
        DrawEvent(mode=rule.mode, cause=cause, token=token, sctr=at, pos=len(session.committed), turn=session.turn)
    )
    session.sctr = at + 1


def note_rule(session: SpecSession, rule: Rule) -> None:
    """Make `rule` the session's; the trace says so when it is another one than before."""
    if rule == session.rule:
        return
    session.rule = rule
    seed, settings = rule.describe()
    session.trace.append(
        SamplingEvent(mode=rule.mode, seed=seed, settings=settings, pos=len(session.committed), turn=session.turn)
    )
