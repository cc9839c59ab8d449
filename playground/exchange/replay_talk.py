"""The answers of a trace in the order in which they were made, as text: what a page shows in place of the chat.

A trace holds the tokens of the answers, and of the messages only how long they were; some files bring the messages
along. An answer that was taken back
later stays in the list, for it was made; while the rewind itself is shown, the last one is cut as the chat was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from engine import events as ev
from playground.panels.since_clear import SinceClear
from playground.panels.tokens_model import TokensModel, TurnToken

KEPT = 200
"""Answers a page gets: the latest."""
GOES_BACK = ("checkpoint", "prompt", "prime")
"""Causes of a rewind that may go behind a whole answer, if only because the next prompt wants other rows below it."""
UNSEEN = ("prompt", "prime")
"""Those of them that nobody asked for: the chat shows the answer as before."""
NO_MESSAGES: Mapping[int, str] = MappingProxyType({})
ENDS = {"cancelled": "stopped", "context": "the context was full", "error": "an error ended it"}


@dataclass(frozen=True)
class Said:
    """One turn."""

    turn: int
    began: str
    """How its prompt was put in place, in a few words."""
    message: str = ""
    """What it answers; '' where the file does not say."""
    tokens: tuple[TurnToken, ...] = ()
    reason: str = ""
    """Why its last burst ended, '' while that runs."""
    cut: bool = False
    """A stop string ended it: what it emitted from there on was taken back, so its last token is no stop token."""
    stop: int | None = None
    """Place in the history of the stop token that ended it, which is no text."""

    def wire(self, text: Callable[[int], str]) -> list[Any]:
        """`[number, how it began, answer, what else there is to say, message]`."""
        shown = [token.id for token in self.tokens if not token.hidden and token.index != self.stop]
        hidden = sum(token.hidden for token in self.tokens)
        notes = [ENDS.get(self.reason, ""), f"{hidden} tokens past the budget are held, not shown" if hidden else ""]
        return [self.turn + 1, self.began, "".join(map(text, shown)), "; ".join(filter(None, notes)), self.message]


class ReplayTalk:
    """Takes a trace's events in order. Holds ids alone: `wire` is told what each of them says."""

    def __init__(self, messages: Mapping[int, str] = NO_MESSAGES) -> None:
        """`messages`: `seq` of a turn's event to the message that the turn answers."""
        self._messages = messages
        self._numbered = SinceClear()
        self._begin()

    def _begin(self) -> None:
        self._past: list[Said] = []
        self._now: Said | None = None
        self._tokens = TokensModel()
        self._before: tuple[TurnToken, ...] | None = None
        """What the present answer had before a rewind that nothing has followed yet."""
        self._opening: tuple[TurnToken, ...] | None = None
        """The same of the answer before a turn that has no token yet."""
        self._seen = True
        """Whether that rewind was asked for, so that the chat was cut too."""

    def take(self, event: ev.Event) -> None:
        """Apply one event; kinds that no answer shows are ignored."""
        if isinstance(event, ev.RewindEvent) and event.cause == "clear":
            self._numbered.clear()
            self._begin()
            return
        event = self._numbered(event)
        if isinstance(event, ev.TurnEvent):
            self._open(event)
        elif isinstance(event, ev.RewindEvent) and event.cause in GOES_BACK and self._before is None:
            self._before, self._seen = tuple(self._tokens.whole), event.cause not in UNSEEN
        elif isinstance(event, ev.RoundEvent) or (isinstance(event, ev.PendingEvent) and event.transition != "drop"):
            self._before = None
        self._tokens.take(event)
        if self._now is not None:
            self._note(event, self._now)

    def wire(self, text: Callable[[int], str]) -> list[list[Any]]:
        """The turns, oldest first, each as `Said.wire` has it; their numbers count from 1."""
        said = [*self._past, *([] if self._now is None else [self._present(self._now)])]
        return [each.wire(text) for each in said[-KEPT:]]

    def _open(self, event: ev.TurnEvent) -> None:
        if self._now is not None:
            present = self._present(self._now)
            self._past.append(present if self._before is None else replace(present, tokens=self._before))
            del self._past[:-KEPT]
        self._opening, self._before = self._before, None
        self._now = Said(event.turn, _began(event), self._messages.get(event.seq, ""))

    def _note(self, event: ev.Event, now: Said) -> None:
        if isinstance(event, ev.BurstEvent | ev.ErrorEvent) and self._tokens.turn != now.turn:
            self._now = self._past.pop() if self._past else None  # it ended in its prefill, so it never was
            self._before = self._opening
        elif isinstance(event, ev.BurstEvent):
            ended = event.reason == "stop" and not now.cut and self._tokens.tokens
            self._now = replace(now, reason=event.reason, stop=self._tokens.tokens[-1].index if ended else None)
        elif isinstance(event, ev.RewindEvent) and event.cause == "stop":
            self._now = replace(now, cut=True)
        elif isinstance(event, ev.RoundEvent) or (isinstance(event, ev.PendingEvent) and event.transition == "promote"):
            self._now = replace(now, reason="", cut=False, stop=None)

    def _present(self, said: Said) -> Said:
        if self._tokens.turn != said.turn:
            return said
        # A carried token is let go a moment before the rewind that takes it back, which is when the chat loses it.
        unseen = self._before is not None and not self._seen
        return replace(said, tokens=self._before if unseen else tuple(self._tokens.whole))  # type: ignore[arg-type]


def _began(event: ev.TurnEvent) -> str:
    prompt = f"prompt of {event.prompt_tokens:,} tokens"
    match event.decision:
        case "prime":
            return f"{prompt}, read afresh"
        case "rewind":
            return f"{prompt}; went back to {event.reused:,} rows first"
    return f"{prompt}, {event.reused:,} of them held already" if event.reused else prompt
