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
        self.messages: said.Messages = ()
        """What waits for the next `ChatSession`, as a page shows it."""
        self.moved = False
        """Whether another branch is shown than the one whose rows are in the caches."""
        self.gone = False
        """Deleted: nothing of it is kept any more."""
        self._sid = sid
        self._keeper = keeper
        self._resume: Callable[[Engine], Transcript] | None = None
        self._how = ""
        self._saving = threading.Lock()
        self._begun: Begun | None = None
        self._begun_s = 0.0

    @property
    def waits(self) -> bool:
        """Whether there is a conversation that no `ChatSession` has taken up yet."""
        return self._resume is not None

    @property
    def can_continue(self) -> bool:
        """Whether what waits ends with a message that has no answer."""
        return bool(self.messages) and self.messages[-1][0] == "user"

    def take(self, kept: Kept, how: str, engine: Engine | None) -> str:
        """A stored conversation waits for the next `ChatSession`. Returns how it came here and what it will cost."""
        self.messages, self._resume, self._how = kept.messages, kept.transcript, how
        return self.outlook(engine)

    def set_aside(self, chat: ChatSession, how: str) -> str:
        """What `chat`, which is about to end, has said waits for another one. Returns a sentence as `take` does."""
        transcript, checkpoint = chat.transcript, str(chat.engine.checkpoint.id)

        def for_engine(engine: Engine) -> Transcript:
            return transcript if str(engine.checkpoint.id) == checkpoint else _as_text(transcript)

        self.messages, self._resume, self._how = said.on_page(chat), for_engine, how
        return self.outlook(None)

    def outlook(self, engine: Engine | None) -> str:
        """How it came here and what the next message costs; '' if nothing waits or nothing was said."""
        if self._resume is None or not self.messages:
            return ""
        return sentence(self._how, None if engine is None else reread(engine, self._resume(engine)))

    def resume(self, chat: ChatSession) -> None:
        """Give what waits to a new `chat`."""
        if self._resume is not None:
            chat.restore(self._resume(chat.engine))
            self.drop()

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
        """Keep what `chat` shows, in place of what was kept of its turn. Returns why that could not be done, or ''."""
        with self._saving:
            begun, self._begun = self._begun, None
            if self._keeper is None or self.gone:
                return ""
            if chat is not None:
                return self._keeper.save(self._sid, chat, options, begun)
            if begun is not None:
                self._keeper.take_back(self._sid, begun)
            return ""

    def forget(self) -> None:
        """Nothing is kept from now on. Waits for a save that has begun: it would bring back what is then deleted."""
        with self._saving:
            self.gone = True

    def show(self, node: int | None, chat: ChatSession | None, engine: Engine | None) -> str:
        """Show another branch, nothing for None: `chat` takes it up, or it waits for one. Returns a sentence."""
        kept = self._switch(node)
        if chat is None:
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
