"""What was recorded of a conversation whose session is gone: its trace, and how the session stood."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from engine import events as ev
from engine.books import Books
from engine.errors import EngineError
from engine.telemetry import SpecTelemetry
from engine.trace import Trace, TraceHeader
from playground.exchange.errors import ExchangeError
from playground.exchange.replay_feed import PieceTokenizer
from playground.exchange.replay_status import ReplayStatus
from playground.exchange.trace_file import TraceFile, trace_of, unpacked
from playground.names import short_reference
from playground.panels.status import LiveStatus
from playground.panels.token_text import Tokenizer

if TYPE_CHECKING:
    from engine import Engine
    from engine.chat import ChatSession

SHOWN = "The panels show what was recorded before."
CUT_SHORT = "The panels show what was recorded before, which ends ahead of the last answer."
NOT_SHOWN = "What the panels showed was not kept."
FOREIGN = "The panels show what {model} recorded before, and begin anew with your next message."
log = logging.getLogger(__name__)


@dataclass
class Record:
    """Of one conversation. Pages read it at any time; only a clear changes it."""

    books: Books
    checkpoint: str
    """The id of the model that made it; '' where no model had made anything."""
    messages: Mapping[int, str] = field(default_factory=dict)
    """`seq` of a turn's event -> the message that the turn answers."""
    elsewhere: bool = False
    """Whether the conversation shows another branch than the session had in its caches."""
    lost: bool = False
    """Whether a turn began later, of which nothing is known."""
    tokenizer: Any = None
    """Of the model that made it; None where the trace brought the texts of its ids along."""
    _status: LiveStatus | None = None

    @classmethod
    def of(cls, chat: ChatSession) -> Record:
        """That of a chat which is about to end."""
        engine = chat.engine
        return cls(chat.session.books, str(engine.checkpoint.id), tokenizer=engine.tokenizer)

    @property
    def trace(self) -> Trace:
        """What pages show."""
        return self.books.trace

    @property
    def status(self) -> LiveStatus:
        """The session as it was; nobody can go back in it, for its rows are gone."""
        if self._status is None:  # not before somebody looks: a switch of models sets many aside
            status = ReplayStatus(self.trace.header.settings)
            for event in self.trace:
                status.take(event)
            self._status = replace(status.reading(), rewind_points=(), running=False, phase="idle")
        return self._status

    @property
    def texts(self) -> Tokenizer:
        """What its token ids say."""
        return PieceTokenizer(self.trace.header.pieces) if self.tokenizer is None else self.tokenizer

    def fits(self, engine: Engine) -> bool:
        """Whether a session of `engine` can go on with it."""
        return self.checkpoint in ("", str(engine.checkpoint.id))

    def words(self, engine: Engine | None) -> str:
        """What a page shows of it, in a sentence."""
        if not len(self.trace):
            return NOT_SHOWN if self.books.next_seq else ""
        if engine is not None and not self.fits(engine):
            return FOREIGN.format(model=short_reference(self.checkpoint))
        return SHOWN if self.books.whole and not self.lost else CUT_SHORT

    def clear(self) -> None:
        """The visitor cleared the conversation: its numbers and values go on, its picture does not."""
        trace, rows = self.trace, self.status.committed
        trace.go_on(trace.header, self.books.next_seq)
        turn = max(self.books.turn, *(event.turn for event in trace.of(ev.TurnEvent)), -1)
        trace.append(ev.RewindEvent(turn=turn, start=rows, to=0, cause="clear", retained=()))
        self._status = None


def figures_of(chat: ChatSession, *, elsewhere: bool) -> dict[str, Any]:
    """What is kept of a record beside the trace; `record_of` takes it."""
    return chat.session.books.figures() | {"checkpoint": str(chat.engine.checkpoint.id), "elsewhere": elsewhere}


def record_of(figures: Mapping[str, Any], parts: Sequence[bytes], *, lost: bool = False) -> Record | None:
    """The record of what was kept. `lost`: a turn began later, of which nothing is known. None for books that are
    damaged; a damaged trace alone is left out."""
    try:
        files = [trace_of(unpacked(part)) for part in parts]
        trace, messages = _joined(files)
    except (ExchangeError, ValueError) as error:
        log.warning("a trace that was kept could not be read: %s", error)
        trace, messages = Trace(TraceHeader("")), {}
    try:
        books = Books.read(trace, figures)
    except EngineError as error:
        log.warning("%s", error)
        return None
    checkpoint, elsewhere = figures.get("checkpoint"), figures.get("elsewhere") is True
    if not isinstance(checkpoint, str):
        return None
    return Record(books.after_a_loss() if lost else books, checkpoint, messages, elsewhere, lost)


def blank() -> Record:
    """That of a conversation whose very first turn was lost: all there is to know is that values were drawn."""
    books = Books(Trace(TraceHeader("")), 0, turn=-1, bursts=0, sctr=0, uctr=0, seed=None, telem=SpecTelemetry())
    return Record(books.after_a_loss(), "", lost=True)


def _joined(files: Sequence[TraceFile]) -> tuple[Trace, dict[int, str]]:
    """One trace of its parts, with the messages since the last clear. Raises ValueError where the parts overlap."""
    events = [event for file in files for event in file.trace]
    if any(later.seq <= before.seq for before, later in pairwise(events)):
        raise ValueError("its parts are out of order")
    pieces = {token: text for file in files for token, text in file.trace.header.pieces.items()}
    header = replace(files[-1].trace.header, pieces=pieces) if files else TraceHeader("")
    cleared = [event.seq for event in events if isinstance(event, ev.RewindEvent) and event.cause == "clear"]
    since = cleared[-1] if cleared else -1
    messages = {seq: text for file in files for seq, text in file.messages.items() if seq > since}
    return Trace.kept(header, events), messages
