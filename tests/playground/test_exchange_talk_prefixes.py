"""The talk of a replay at every single event: never a word more or less than the chat had before or after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.exchange.replay_talk import ReplayTalk
from playground.panels.tokens_model import TokensModel
from tests.playground.plays import act
from tests.playground.synthetic import SyntheticSession

Lines = list[list[int]]
codes = st.lists(st.integers(min_value=0, max_value=400), min_size=1, max_size=16)


class Told(SyntheticSession):
    """Its own account of what a chat shows, and after each event what a replay may show: what it was before the step
    that the event belongs to, or after it, or a new answer that is still empty. A burst that ends with a stop token
    says so, and the token is no text."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.past: Lines = []
        self.allowed: list[list[Lines]] = []
        self._whole: list[int] | None = None
        """The answer before a rewind that nothing has followed."""
        self._stop: int | None = None
        self._stopping = False

    @property
    def present(self) -> list[int]:
        first = len(self.history) - len(self.answer)
        return [token for index, token in enumerate(self.visible, start=first) if index != self._stop]

    @property
    def lines(self) -> Lines:
        return [] if self.turn_no < 0 else [*self.past, self.present]

    def turn(self, prompt: int = 24) -> None:
        begun = self._made() if self.turn_no >= 0 else []

        def step() -> None:
            super(Told, self).turn(prompt)
            self.past, self._whole, self._stop = begun, None, None

        self._step(step, [*begun, []])

    def cancelled_turn(self) -> None:
        self._step(super().cancelled_turn, [*self._made(), []])

    def resume(self) -> None:
        def step() -> None:
            if not self.pending and self.next_pred is not None:
                self._stop = self._whole = None
            super(Told, self).resume()

        self._step(step)

    def round(self, trim: int = 0, stop: bool = False) -> int:
        emitted: list[int] = []

        def step() -> None:
            self._stop = self._whole = None
            emitted.append(super(Told, self).round(trim, stop))
            self._stopping = stop

        self._step(step)
        return emitted[0]

    def end_burst(self, over: int = 0) -> None:
        def step() -> None:
            super(Told, self).end_burst(over)
            self._stop = len(self.history) - 1 if self._stopping else None
            self._stopping = False

        self._step(step)

    def rewind(self, to: int) -> None:
        def step() -> None:
            if self._whole is None:
                self._whole = self.present
            super(Told, self).rewind(to)

        self._step(step)

    def _made(self) -> Lines:
        return [*self.past, self.present if self._whole is None else self._whole]

    def _step(self, step: Callable[[], None], between: Lines | None = None) -> None:
        before, count = self.lines, self.trace.next_seq
        step()
        may = [before, self.lines, *([] if between is None else [between])]
        if events := self.trace.next_seq - count:
            self.allowed += [may] * (events - 1) + [[self.lines]]

    def _burst_event(self, reason: str, over: int = 0) -> None:
        super()._burst_event("stop" if self._stopping and reason == "length" else reason, over)


def check(session: Told) -> None:
    talk = ReplayTalk()
    for event, allowed in zip(session.trace, session.allowed, strict=True):
        talk.take(event)
        assert said(talk) in allowed, event


def said(talk: ReplayTalk) -> Lines:
    return [[int(word) for word in line[2].split()] for line in talk.wire(lambda token: f" {token}")]


@settings(max_examples=100, deadline=None)
@given(codes, st.integers(0, 9))
def test_every_prefix_of_a_trace_says_what_the_chat_said(codes: list[int], seed: int) -> None:
    session = Told(seed)
    for code in codes:
        act(session, code)
    check(session)


def stopped_and_rewound() -> Told:
    session = Told(3)
    session.turn()
    session.round()
    session.round(stop=True)
    session.end_burst()
    session.rewind(session.points[-1])
    return session


def test_a_stop_token_that_a_rewind_lets_go_takes_no_word_along() -> None:
    check(stopped_and_rewound())
    session = Told(4)
    session.turn()
    for _ in range(3):
        session.round()
    session.end_burst()
    session.rewind(session.points[-1])
    check(session)


@pytest.mark.parametrize(
    ("where", "name", "broken"),
    [
        (TokensModel, "whole", property(lambda self: self.tokens)),
        (ReplayTalk, "_note", lambda self, event, now: None),
    ],
)
def test_teeth_one_token_more_or_less_is_seen(
    where: Any, name: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, broken)
    with pytest.raises(AssertionError):
        test_a_stop_token_that_a_rewind_lets_go_takes_no_word_along()
