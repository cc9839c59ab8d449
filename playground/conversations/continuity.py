"""What a conversation is apart from its `ChatSession`: where it is kept, and how it goes on in another one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.chat.prompt import Answer
from engine.chat.transcript import Exchange, Transcript
from playground import said
from playground.asked import Asked
from playground.conversations.keeping import TraceKeeping
from playground.conversations.record import Record, figures_of
from playground.conversations.reread import reread, reread_by, sentence
from playground.limits import Refused
from playground.store import StoreError

if TYPE_CHECKING:
    from engine import Engine
    from engine.chat import ChatSession
    from playground.keeper import Keeper, Kept
    from playground.limits import TurnOptions
    from playground.store import Begun

SO_FAR_S = 5.0
"""Seconds between two savings of an answer under way."""
BRANCH = "This branch"
NOT_KEPT = "This conversation has no branches yet; send a message first."


class Continuity:
    """Of one conversation. Without a keeper nothing of it is kept, and there is nothing to go on with."""

    def __init__(self, sid: str, keeper: Keeper | None) -> None:
        self.asked = Asked()
        """What its turns answer, for who takes its trace along."""
        self.messages: said.Messages = ()
        """What waits for the next `ChatSession`, as a page shows it."""
        self.moved = False
        """Whether another branch is shown than the one whose rows are in the caches."""
        self.record: Record | None = None
        """What was recorded of a session that is gone, until another one goes on with it or begins anew."""
        self._sid = sid
        self._keeper = keeper
        self._resume: Callable[[Engine], Transcript] | None = None
        self._how = ""
        self._saving = threading.Lock()
        self._trace = None if keeper is None else TraceKeeping(sid, keeper, self._saving)
        self._begun: Begun | None = None
        self._begun_s = 0.0

    @property
    def gone(self) -> bool:
        """Deleted: nothing of it is kept any more."""
        return self._trace is not None and self._trace.gone

    @property
    def waits(self) -> bool:
        """Whether there is a conversation that no `ChatSession` has taken up yet."""
        return self._resume is not None

    @property
    def can_continue(self) -> bool:
        """Whether what waits ends with a message that has no answer."""
        return bool(self.messages) and self.messages[-1][0] == "user"

    def take(self, kept: Kept, how: str, engine: Engine | None, record: Record | None = None) -> str:
        """A stored conversation waits for the next `ChatSession`, with what was recorded of it. Returns how it came
        here and what it will cost."""
        self.messages, self._resume, self._how = kept.messages, kept.transcript, how
        if record is not None:
            self.record, self.moved = record, record.elsewhere
            self.asked.adopt(record.trace, record.messages)
            if self._trace is not None:
                self._trace.adopt(record.trace)
        return self.outlook(engine)

    def set_aside(self, chat: ChatSession, how: str) -> str:
        """What `chat`, which is about to end, has said waits for another one. Returns a sentence as `take` does."""
        transcript, checkpoint = chat.transcript, str(chat.engine.checkpoint.id)

        def for_engine(engine: Engine) -> Transcript:
            return transcript if str(engine.checkpoint.id) == checkpoint else _as_text(transcript)

        self.record = Record.of(chat)
        self.messages, self._resume, self._how = said.on_page(chat), for_engine, how
        return self.outlook(None)

    def outlook(self, engine: Engine | None) -> str:
        """How it came here, what the next message costs, and what the panels have; '' if nothing waits or was said."""
        if self._resume is None or not self.messages:
            return ""
        costs = sentence(self._how, None if engine is None else reread(engine, self._resume(engine)))
        return costs if self.record is None else f"{costs} {self.record.words(engine)}".rstrip()

    def resume(self, chat: ChatSession) -> None:
        """Give what waits to a new `chat`, which goes on with the record of the one before it if that is its own."""
        if self._resume is not None:
            chat.restore(self._resume(chat.engine))
            self.drop()
        if self.record is not None and self.record.fits(chat.engine):
            chat.session.take_up(self.record.books)

    def drop(self) -> None:
        """Nothing waits any more."""
        self.messages, self._resume, self.moved = (), None, False

    def begin(self, messages: said.Messages, options: TurnOptions) -> None:
        """A turn begins, and a page shows `messages`: they are kept already, should the program end before the turn."""
        with self._saving:
            if self._keeper is not None and not self.gone:
                path = messages[:-1] if messages[-1:] == (said.COMING,) else messages
                self._begun, self._begun_s = self._keeper.begin(self._sid, path, options), time.monotonic()

    def so_far(self, text: str) -> None:
        """The answer under way says `text` by now, which is kept every few seconds."""
        if time.monotonic() - self._begun_s < SO_FAR_S:
            return
        with self._saving:
            if self._keeper is not None and self._begun is not None and not self.gone:
                self._begun, self._begun_s = self._keeper.so_far(self._sid, self._begun, text), time.monotonic()

    def save(self, chat: ChatSession | None, options: TurnOptions | None) -> str:
        """Keep what `chat` shows, in place of what was kept of its turn, and soon its trace.
        Returns why that could not be done, or ''; of the trace nobody is told."""
        with self._saving:
            begun, self._begun = self._begun, None
            if self._keeper is None or self._trace is None or self.gone:
                return ""
            if chat is None:
                if begun is not None:
                    self._keeper.take_back(self._sid, begun)
                return ""
            trace, figures = chat.session.trace, figures_of(chat, elsewhere=self.moved)
            anew = trace is not self._trace.trace
            unkept = self._keeper.save(self._sid, chat, options, begun, figures, anew)
            self._trace.trace = self._trace.trace if unkept else trace
        self.keep_trace(chat)
        return unkept

    def keep_trace(self, chat: ChatSession | None) -> None:
        """Keep, soon, what the trace of a saved conversation has by now, or what was recorded if there is no chat."""
        if self._trace is None:
            return
        if chat is not None:
            trace, tokenizer = chat.session.trace, chat.engine.tokenizer
            self._trace.keep(trace, tokenizer, lambda: self.asked.of(trace))
        elif self.record is not None:
            trace = self.record.trace
            self._trace.keep(trace, self.record.tokenizer, lambda: self.asked.of(trace))

    def forget(self) -> None:
        """Nothing is kept from now on. Waits for a save that has begun: it would bring back what is then deleted."""
        with self._saving:
            if self._trace is not None:
                self._trace.gone = True

    def show(self, node: int | None, chat: ChatSession | None, engine: Engine | None) -> str:
        """Show another branch, nothing for None: `chat` takes it up, or it waits for one. Returns a sentence."""
        kept = self._switch(node)
        if chat is None:
            self.moved = self.record is not None
            return self.take(kept, BRANCH, engine)
        chat.restore(kept.transcript(chat.engine))
        self.moved = True
        return sentence(BRANCH, reread_by(chat))

    def gone_back(self, chat: ChatSession | None) -> str:
        """What a rewind of `chat` comes to."""
        number = len(said.questions(said.on_page(chat)))
        stays = "" if self._keeper is None else " What came after it stays as a branch under Conversations."
        return f"Back at message {number}: Continue answers it again, and a new message replaces it.{stays}"

    def clear(self) -> None:
        """What waits is not shown any more; where it is kept it stays as a branch."""
        if self._resume is not None and self._keeper is not None and self._keeper.load(self._sid) is not None:
            self._switch(None)
        self.asked.forget()
        if self.record is not None:
            self.record.clear()
            self.keep_trace(None)
        self.drop()

    def _switch(self, node: int | None) -> Kept:
        if self._keeper is None:
            raise Refused(NOT_KEPT)
        try:
            return self._keeper.switch(self._sid, node)
        except StoreError as error:
            raise Refused(str(error)) from None


def _as_text(transcript: Transcript) -> Transcript:
    """The answers without ids."""

    def plain(exchange: Exchange) -> Exchange:
        text = exchange.answer.text if exchange.answer is not None else None
        return exchange if text is None else replace(exchange, answer=Answer((), text, text))

    return replace(transcript, exchanges=tuple(plain(exchange) for exchange in transcript.exchanges))
