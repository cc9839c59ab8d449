"""The token view's reducer against the synthetic session's own account of its answer."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine import events as ev
from playground.panels.tokens_model import TokensModel
from tests.playground.plays import act
from tests.playground.synthetic import SyntheticSession


@given(st.lists(st.integers(min_value=0, max_value=400), min_size=1, max_size=16), st.integers(0, 9))
@settings(max_examples=150, deadline=None)
def test_tokens_rebuilt_from_events_are_the_answer(codes: list[int], seed: int) -> None:
    session, model, seq, copy = SyntheticSession(seed), TokensModel(), 0, []
    for code in codes:
        act(session, code)
        for event in session.trace.since(seq):
            model.take(event)
        seq = session.trace.next_seq
        assert model.visible == session.visible
        assert model.hidden == session.hidden
        assert [token.index for token in model.tokens] == list(
            range(len(session.history) - len(session.answer), len(session.history))
        )
        changes = model.take_changes()
        if changes:
            _, keep, added = changes
            copy = copy[:keep] + added
        assert copy == [token.wire() for token in model.tokens]
        assert model.take_changes() is None


def test_each_token_says_where_it_came_from() -> None:
    session, model = SyntheticSession(3), TokensModel()
    session.turn()
    for _ in range(12):
        session.round()
    for event in session.trace:
        model.take(event)
    assert model.tokens[0].origin == "first"
    assert model.tokens[0].round == -1
    for event in session.trace.of(ev.RoundEvent):
        mine = [token for token in model.tokens if token.round == event.round]
        assert [token.column for token in mine] == list(range(1, event.emitted + 1))
        drafts = ["draft"] * event.accepted
        assert [token.origin for token in mine] == [*drafts, "correction" if event.correction else "bonus"]


def test_a_continuation_may_show_a_part_of_the_overshoot() -> None:
    session, model = SyntheticSession(3), TokensModel()
    session.turn()
    while session.round() < 4:
        pass
    session.end_burst(over=3)
    for event in session.trace:
        model.take(event)
    hidden = model.hidden
    model.take(ev.OvershootEvent(action="shown", tokens=tuple(hidden[:1]), turn=0, pos=session.committed))
    assert model.hidden == hidden[1:]
    model.take(ev.OvershootEvent(action="dropped", tokens=tuple(hidden[1:]), turn=0, pos=session.committed))
    assert model.hidden == []
    assert model.visible[-1] == hidden[0]


def test_going_back_to_the_prompt_empties_the_answer_and_a_promotion_opens_it_again() -> None:
    session, model = SyntheticSession(3), TokensModel()
    session.turn()
    session.round()
    session.end_burst()
    session.rewind(session.points[-1])
    session.resume()
    for event in session.trace:
        model.take(event)
    assert [token.origin for token in model.tokens] == ["first"]
    assert model.visible == session.visible
