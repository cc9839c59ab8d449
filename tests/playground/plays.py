"""Ways to drive a synthetic session: by numbers, for property tests, and through a plausible chat."""

from __future__ import annotations

from collections.abc import Iterator

from tests.playground.synthetic import SyntheticSession


def act(session: SyntheticSession, code: int) -> None:
    """One lawful action, chosen by a number; what the state does not allow becomes a turn."""
    kind, size = code % 8, code // 8
    if kind == 0 or session.turn_no < 0:
        session.turn(prompt=1 + size % 20)
    elif kind == 7:
        session.cancelled_turn()
    elif kind == 1 and session.points:
        session.rewind(session.points[size % len(session.points)])
    elif session.pending or session.next_pred is not None:
        session.resume()
        emitted = 0
        for _ in range(size % 5):
            emitted = session.round()
        if kind == 2:
            session.round(trim=1 + size % 3)
        elif kind == 3:
            session.round(stop=True)
        over = min(size % 4, emitted - 1) if kind == 4 and emitted else 0
        session.end_burst(over)
    else:
        session.turn()


def play(session: SyntheticSession, turns: int = 3, bursts: int = 4, rounds: int = 8) -> Iterator[None]:
    """Drive a session through a plausible chat, yielding after each step."""
    for turn in range(turns):
        if turn == 2:
            session.rewind(session.points[0])
        session.turn(prompt=session.random.randint(12, 60))
        yield
        for burst in range(bursts):
            if burst:
                session.resume()
            for place in range(rounds):
                last = place == rounds - 1
                emitted = session.round(trim=2 if last and turn == 1 and burst == 1 else 0)
                if not last:
                    yield
            session.end_burst(over=min(2, emitted - 1) if burst == bursts - 1 and session.pending else 0)
            yield
