"""Books: what a session leaves to the one that goes on in its place, after a restart for example.

Rows, rewind points and the drafter's state are gone with the session; they come back with the next prompt. What must
not begin anew are the trace with its numbers, the telemetry, the session's own seed, and where its random numbers
stand: no value is drawn twice in a session's life, and that life goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError, SessionStateError
from engine.events import (
    BurstEvent,
    ContextEvent,
    DrawEvent,
    FlushEvent,
    OvershootEvent,
    PendingEvent,
    RewindEvent,
    RoundEvent,
    SamplingEvent,
    State,
)
from engine.rules import GREEDY
from engine.telemetry import POSITIONS, SpecTelemetry
from engine.trace import Trace

if TYPE_CHECKING:
    from engine.session import SpecSession

LOST = 2**24
"""Counter values passed over for a turn of which nothing is known: more than any turn draws."""
COUNTS = ("next_seq", "turn", "bursts", "sctr", "uctr")
TOTALS = ("rounds", "drafted", "accepted", "emitted", "draft_rounds")
LARGEST = 2**53


@dataclass(frozen=True)
class Books:
    """How a session stood. The trace may be older than the rest; what is missing then shows as a gap in its `seq`."""

    trace: Trace
    next_seq: int
    turn: int
    bursts: int
    sctr: int
    uctr: int
    seed: int | None
    """The session's own; None while it has drawn none."""
    telem: SpecTelemetry

    @classmethod
    def of(cls, session: SpecSession) -> Books:
        """The books of a session between two calls. They share its trace."""
        telem, trace = session.telem.copy(), session.trace
        own = session._seed
        return cls(trace, trace.next_seq, session.turn, session.bursts, session.sctr, session.uctr, own, telem)

    @property
    def whole(self) -> bool:
        """Whether the trace has the last event of the session."""
        return self.trace.next_seq >= self.next_seq

    def figures(self) -> dict[str, Any]:
        """Everything but the trace, JSON-ready; `read` takes it."""
        telem = {name: getattr(self.telem, name) for name in (*TOTALS, "pos_drafted", "pos_accepted")}
        return {name: getattr(self, name) for name in (*COUNTS, "seed")} | {"telem": telem}

    @classmethod
    def read(cls, trace: Trace, figures: Mapping[str, Any]) -> Books:
        """The books of `figures`, and of a trace that was kept apart. Raises `EngineError` for what is none."""
        try:
            counts = {name: _count(figures[name], -1 if name == "turn" else 0) for name in COUNTS}
            seed, said = figures["seed"], figures["telem"]
            totals = {name: _count(said[name]) for name in TOTALS}
            places = {name: [_count(n) for n in said[name]] for name in ("pos_drafted", "pos_accepted")}
            if any(len(place) != POSITIONS for place in places.values()) or not _is_seed(seed):
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise EngineError("The books of this session are damaged; begin a new one.") from None
        return cls(trace, seed=seed, telem=SpecTelemetry(**totals, **places), **counts)  # type: ignore[arg-type]

    def after_a_loss(self) -> Books:
        """The same, where a turn began after they were written: its draws are passed over, as if all had been used."""
        return replace(self, sctr=self.sctr + LOST, uctr=self.uctr + LOST)


def take_up(session: SpecSession, books: Books) -> None:
    """Let a fresh session go on with the books of one that is gone. Rows come with the first prompt.

    The trace goes on without repeating a number; before anything else it says that the rows are gone. Counters go on
    where the books or the trace end, whichever is later. Raises `SessionStateError` unless the session is FRESH and
    has had no turn.
    """
    with session.exclusive("take_up"):
        if session.state != "FRESH" or session.turn >= 0 or session.telem.rounds:
            raise SessionStateError("Only a session that has had no turn can take up books; call Engine.new_session.")
        trace = books.trace
        rounds, draws = trace.of(RoundEvent), trace.of(DrawEvent)
        ends = [event.sctr + event.draws for event in rounds] + [event.sctr + 1 for event in draws]
        session.sctr = max([books.sctr, *ends])
        session.uctr = max([books.uctr, *(event.uctr + len(event.test_u) for event in rounds)])
        session._seed = books.seed
        session.turn = max([books.turn, *(event.turn for event in rounds)])
        session.bursts = max([books.bursts, *(event.burst + 1 for event in rounds)])
        session.telem = books.telem.copy()
        for event in rounds:  # of a turn that the books do not know
            if event.round >= books.telem.rounds:
                session.telem.record(len(event.drafted), event.accepted, event.emitted)
        trace.go_on(session.trace.header, books.next_seq)
        session.trace = trace
        _say_gone(session)
    session.set_drafter(session.drafter)  # which notes it


def rows_gone(session: SpecSession) -> bool:
    """Whether a session without rows had some that its next prompt computes again."""
    last = next((event for event in reversed(list(session.trace)) if isinstance(event, RewindEvent)), None)
    return session.state == "FRESH" and last is not None and last.cause == "prime"


def _say_gone(session: SpecSession) -> None:
    """The events that lead the trace from where its session stood to one without rows, and to its rule."""
    trace, (length, state) = session.trace, _stood(session.trace)
    sampled = next((event for event in reversed(list(trace)) if isinstance(event, SamplingEvent)), None)
    if length:
        trace.append(ContextEvent(action="evicted", used=length, max_ctx=session.engine.max_ctx))
        if over := _held_back(trace):  # no prompt has them; what was kept for a continuation is gone
            pos = max(0, length - len(over) + (state == "PENDING"))
            trace.append(OvershootEvent(action="dropped", tokens=over, turn=session.turn, pos=pos))
        carried = next((event for event in reversed(trace.of(PendingEvent)) if event.transition == "carry"), None)
        if state == "PENDING" and carried is not None:
            gone: dict[str, Any] = {"token": carried.token, "pos": length, "burst": session.bursts}
            trace.append(PendingEvent(transition="drop", turn=session.turn, via="rewind", state="PREDICTED", **gone))
        trace.append(RewindEvent(turn=session.turn, start=length, to=0, cause="prime", retained=()))
    if sampled is not None and session.rule is GREEDY:
        seed, settings = GREEDY.describe()
        trace.append(SamplingEvent(mode=GREEDY.mode, seed=seed, settings=settings, pos=0, turn=session.turn))


def _held_back(trace: Trace) -> tuple[int, ...]:
    """Overshoot that nobody was shown, at a trace's end."""
    tokens: tuple[int, ...] = ()
    for event in trace:
        if isinstance(event, BurstEvent | RewindEvent):
            tokens = ()
        elif isinstance(event, OvershootEvent):
            tokens = event.tokens if event.action == "kept" else tokens[len(event.tokens) :]
    return tokens


def _stood(trace: Trace) -> tuple[int, State]:
    """Committed length and state at a trace's end; after a rewind to nothing the state does not matter."""
    for event in reversed(list(trace)):
        match event:
            case BurstEvent():
                return event.committed, event.state
            case FlushEvent():
                return event.pos + 1, "PREDICTED"
            case RewindEvent():
                return event.to, "PENDING" if event.cause == "unpark" else "PREDICTED"
    return 0, "FRESH"


def _count(value: object, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= LARGEST:
        raise ValueError
    return value


def _is_seed(value: object) -> bool:
    return value is None or (type(value) is int and 0 <= value < 2**64)
