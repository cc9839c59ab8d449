"""The engine's side of one conversation: made for its first turn, set to the options of each, and let go."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from playground import said
from playground.conversations.continuity import Continuity
from playground.drafter_choice import DrafterChoice
from playground.inspector.recording import recorded
from playground.limits import TurnOptions

if TYPE_CHECKING:
    from engine import Engine
    from engine.chat import ChatSession
    from engine.trace import Trace


class LiveChat:
    """Holds the `ChatSession`. Only the worker makes, changes or ends it; its trace may be read from any thread."""

    def __init__(self, make: Callable[[], ChatSession], rest: Continuity) -> None:
        """`rest` is what the conversation is apart from it: where it goes on, and what waits for the next one."""
        self.chat: ChatSession | None = None
        """None before the first turn, and while the next engine has not been asked yet."""
        self.drafter = DrafterChoice()
        self.alternatives: bool | None = None
        """Whether its rounds record the most probable tokens; None: where that costs next to nothing."""
        self._make = make
        self._rest = rest
        self._system = ""

    def ready(self, options: TurnOptions) -> ChatSession:
        """The chat, made if there is none, as the options of a turn want it."""
        if self.chat is None:
            chat = self._make()
            self._rest.resume(chat)
            self.chat, self._system = chat, chat.transcript.system or ""
            self._rest.record = None  # only now: a page finds one of the two at any time
        self.drafter.ask(options.drafter, options.draft_len)
        self.drafter.apply(self.chat.session)
        if options.system != self._system:
            self.chat.set_system(options.system)
            self._system = options.system
        self.chat.session.alternatives = recorded(self.chat.engine, self.alternatives)
        return self.chat

    @property
    def trace(self) -> Trace | None:
        """Its events, for any thread; without a chat those that were recorded before. None before the first turn."""
        chat, record = self.chat, self._rest.record
        if chat is not None:
            return chat.session.trace
        return None if record is None else record.trace

    def show(self, node: int, engine: Engine | None) -> str:
        """Go to another branch. Returns a sentence; raises `Refused`."""
        told = self._rest.show(node, self.chat, engine)
        if self.chat is not None:
            self._system = self.chat.transcript.system or ""
        return told

    def record_alternatives(self, on: bool) -> None:
        """Record the most probable tokens of each round or not, from the next round on."""
        self.alternatives, chat = on, self.chat
        if chat is not None:
            chat.session.alternatives = recorded(chat.engine, on)

    def at_rest(self) -> tuple[said.Messages, bool]:
        """What it shows while nothing runs, and whether that can be continued."""
        chat = self.chat
        if chat is None:
            return self._rest.messages, self._rest.can_continue
        return said.on_page(chat), chat.can_continue

    def seed(self, options: TurnOptions | None) -> int | None:
        """The seed of the latest turn: the one asked for, else the session's own; None without sampling."""
        if self.chat is None or options is None or not options.sampled:
            return None
        return self.chat.session.seed if options.seed is None else options.seed

    def let_go(self) -> None:
        """End it; what comes next reads everything anew."""
        if self.chat is not None:
            self._rest.keep_trace(self.chat)
            self.chat.session.close()
            self.chat, self._system = None, ""
            self.drafter.begin_anew()
