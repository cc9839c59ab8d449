"""What a conversation remembers of its last turn, so that it can be continued: text in progress and overshoot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.chat.answer_text import AnswerText
from engine.chat.detokenize import Detokenizer
from engine.errors import SessionStateError
from engine.events import Origin
from engine.rewind import drop_overshoot

if TYPE_CHECKING:
    from engine.chat.turn import Turn, TurnRun
    from engine.session import SpecSession


class LastAnswer:
    """The last turn of a conversation; empty before the first one and after a rewind."""

    def __init__(self, session: SpecSession) -> None:
        self.turn: Turn | None = None
        self.text = new_text(session)
        """The answer's text over all of its turns."""
        self.hidden_origin: list[Origin] = []
        self._session = session
        self._open = False
        self._end = 0

    def settle(self, run: TurnRun, turn: Turn, text: AnswerText) -> None:
        """Remember a turn that showed something."""
        self.turn, self.text, self.hidden_origin = turn, text, run.hidden_origin
        self._open = turn.reason in ("length", "cancelled")
        self._end = turn.start + len(turn.tokens) + len(turn.hidden)

    @property
    def resumable(self) -> bool:
        """Whether more of the answer can be generated, for the session still ends with it."""
        return self._open and self._live and self._session.state in ("PENDING", "PREDICTED")

    @property
    def shown_end(self) -> int:
        """Length of the history up to the last token shown."""
        return self._end - len(self.hidden)

    @property
    def hidden(self) -> list[int]:
        """Overshoot that the session still ends with."""
        return list(self.turn.hidden) if self.turn is not None and self._live else []

    @property
    def held(self) -> str:
        """Text not shown because a stop string could begin there and a continuation could complete it."""
        return self.text.held if self._open else ""

    def drop_hidden(self) -> None:
        """Drop the overshoot. If its round is gone (evicted rows), comparing ids will do it."""
        count = len(self.hidden)
        if not count:
            return
        assert self.turn is not None
        try:
            drop_overshoot(self._session, count)
        except SessionStateError:
            return
        self._end -= count
        self.turn, self.hidden_origin = replace(self.turn, hidden=[]), []

    @property
    def _live(self) -> bool:
        return len(self._session.committed) + (self._session.pending_tok is not None) == self._end


def new_text(session: SpecSession, stops: tuple[str, ...] = ()) -> AnswerText:
    """An empty answer in the session's vocabulary."""
    return AnswerText(Detokenizer(session.engine.tokenizer, session.engine.stop_ids), stops)
