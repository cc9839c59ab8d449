"""Earlier turns: kept as they ended, told apart from those a rewind dropped, bounded, and found again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import events as ev
from playground.inspector.turns import MOST, beside, token_at, turn_reply, with_number, with_round, with_turn
from playground.panels.tokens_model import TokensModel
from tests.playground.inspector.rounds import TEXTS
from tests.playground.plays import act
from tests.playground.synthetic import SyntheticSession


class Watched:
    """A session and the model that follows it."""

    def __init__(self, past: int = 20_000) -> None:
        self.session, self.model, self._seq = SyntheticSession(3), TokensModel(past), 0

    def look(self) -> TokensModel:
        for event in self.session.trace.since(self._seq):
            self.model.take(event)
        self._seq = self.session.trace.next_seq
        return self.model

    def turn(self, rounds: int = 3, over: int = 0) -> list[int]:
        self.session.turn()
        for _ in range(rounds):
            self.session.round()
        self.session.end_burst(over)
        self.look()
        return list(self.session.answer)


@given(st.lists(st.integers(min_value=0, max_value=400), min_size=1, max_size=20), st.integers(0, 9))
@settings(max_examples=80, deadline=None)
def test_what_was_not_dropped_still_stands_in_the_history(codes: list[int], seed: int) -> None:
    watched = Watched()
    watched.session.random.seed(seed)
    gone: set[int] = set()
    for code in codes:
        before = watched.session.trace.next_seq
        act(watched.session, code)
        model, history = watched.look(), watched.session.history
        back = [event.to for event in watched.session.trace.since(before) if isinstance(event, ev.RewindEvent)]
        for past in model.past.kept:
            if not past.gone:
                assert [history[token.index] for token in past.tokens] == [token.id for token in past.tokens]
            elif past.number not in gone:
                gone.add(past.number)
                assert past.tokens[0].index >= min(back)


def test_a_turn_is_an_earlier_one_once_the_next_has_a_token() -> None:
    watched = Watched()
    first = watched.turn()
    watched.session.cancelled_turn()
    assert not watched.look().past.kept
    second = watched.turn()
    assert [[token.id for token in past.tokens] for past in watched.model.past.kept] == [first]
    watched.turn()
    assert [[token.id for token in past.tokens] for past in watched.model.past.kept] == [first, second]
    assert [past.turn for past in watched.model.past.kept] == [0, 1]


def test_an_answer_that_a_rewind_drops_stays_readable_whole_and_is_marked() -> None:
    watched = Watched()
    answers = [watched.turn() for _ in range(3)]
    watched.session.rewind(watched.session.points[1])
    model = watched.look()
    assert not model.tokens
    assert [([token.id for token in past.tokens], past.gone) for past in model.past.kept] == [
        (answers[0], False),
        (answers[1], True),
        (answers[2], True),
    ]
    watched.session.resume()
    watched.look()
    assert len(model.past.kept) == 3 and len(model.tokens) == 1


def test_kept_turns_are_bounded_by_tokens_and_the_newest_always_stays() -> None:
    watched = Watched(past=120)
    for _ in range(30):
        watched.turn(rounds=6)
        kept = watched.model.past.kept
        assert len(kept) <= 1 or sum(len(past.tokens) for past in kept) <= 120
    numbers = [past.number for past in watched.model.past.kept]
    assert numbers == list(range(28 - len(numbers) + 1, 29))


def test_steps_lead_from_the_last_turn_back_and_forth() -> None:
    watched = Watched()
    for _ in range(4):
        watched.turn()
    model = watched.model
    assert beside(model, None, 1) is None
    newest = beside(model, None, -1)
    assert newest is not None and newest.number == 2
    assert getattr(beside(model, 2, -1), "number", None) == 1
    assert getattr(beside(model, 0, -1), "number", None) == 0
    assert getattr(beside(model, 0, 1), "number", None) == 1
    assert beside(model, 2, 1) is None
    assert turn_reply(model, None, TEXTS) == {"number": None, "turn": 3, "older": True}


def test_a_round_a_turn_and_a_place_are_found_and_nonsense_is_not() -> None:
    watched = Watched()
    for _ in range(3):
        watched.turn()
    model = watched.model
    for round_ in range(9):
        found = with_round(model, round_)
        assert (None if found is None else found.turn) == (round_ // 3 if round_ < 6 else None)
    assert with_turn(model, 2) is None and getattr(with_turn(model, 1), "number", None) == 1
    assert token_at(model, 1, 0) == (1, with_number(model, 1).tokens[0])  # type: ignore[union-attr]
    assert token_at(model, None, 0) == (2, model.tokens[0])
    for number, place in ((7, 0), ("1", 0), (1, "0"), (1, -1), (1, 10**6), (None, None)):
        assert token_at(model, number, place) is None


def test_a_reply_has_the_tokens_with_their_texts_and_where_to_go() -> None:
    watched = Watched()
    for _ in range(3):
        watched.turn()
    watched.session.rewind(watched.session.points[2])
    model = watched.look()
    past = with_number(model, 1)
    reply = turn_reply(model, past, TEXTS)
    assert past is not None
    assert reply["tokens"] == [token.wire() for token in past.tokens]
    assert reply["texts"] == {str(token.id): TEXTS(token.id) for token in past.tokens}
    assert (reply["older"], reply["later"], reply["gone"], reply["first"]) == (True, 0, False, 0)
    past.tokens = past.tokens * (MOST // len(past.tokens) + 1)
    assert len(turn_reply(model, past, TEXTS)["tokens"]) == MOST


def test_a_model_that_forgets_to_mark_dropped_turns_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playground.panels.tokens_model.PastTurns.cut", lambda self, index: None)
    with pytest.raises((AssertionError, IndexError)):
        test_what_was_not_dropped_still_stands_in_the_history()
