"""The answers of a trace in the order in which they were made, as text: what a page shows in place of the chat.

A trace holds the tokens of the answers, and of the messages only how long they were. An answer that was taken back
later stays in the list, for it was made; while the rewind itself is shown, the last one is cut as the chat was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from engine import events as ev
from playground.panels.since_clear import SinceClear
from playground.panels.tokens_model import TokensModel, TurnToken

KEPT = 200
"""Answers a page gets: the latest."""
GOES_BACK = ("checkpoint", "prompt", "prime")
"""Causes of a rewind that may go behind a whole answer, if only because the next prompt wants other rows below it."""
ENDS = {"cancelled": "stopped", "context": "the context was full", "error": "an error ended it"}


@dataclass(frozen=True)
class Said:
    """One turn."""

    turn: int
    began: str
    """How its prompt was put in place, in a few words."""
    tokens: tuple[TurnToken, ...] = ()
    reason: str = ""
    """Why its last burst ended, '' while that runs."""
    cut: bool = False
    """A stop string ended it: what it emitted from there on was taken back, so its last token is no stop token."""

    def wire(self, text: Callable[[int], str]) -> list[Any]:
        """`[number, how it began, answer, what else there is to say]`."""
        shown = [token.id for token in self.tokens if not token.hidden]
        hidden = len(self.tokens) - len(shown)
        if self.reason == "stop" and not self.cut:
            shown = shown[:-1]
        notes = [ENDS.get(self.reason, ""), f"{hidden} tokens past the budget are held, not shown" if hidden else ""]
        return [self.turn + 1, self.began, "".join(map(text, shown)), "; ".join(filter(None, notes))]


class ReplayTalk:
    """Takes a trace's events in order. Holds ids alone: `wire` is told what each of them says."""

    def __init__(self) -> None:
        self._numbered = SinceClear()
        self._begin()

    def _begin(self) -> None:
        self._past: list[Said] = []
        self._now: Said | None = None
        self._tokens = TokensModel()
        self._before: tuple[TurnToken, ...] | None = None
        """What the present answer had before a rewind that nothing has followed yet."""

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
            self._before = tuple(self._tokens.whole)
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
        self._before = None
        self._now = Said(event.turn, _began(event))

    def _note(self, event: ev.Event, now: Said) -> None:
        if isinstance(event, ev.BurstEvent | ev.ErrorEvent) and self._tokens.turn != now.turn:
            self._now = self._past.pop() if self._past else None  # it ended in its prefill, so it never was
        elif isinstance(event, ev.BurstEvent):
            self._now = replace(now, reason=event.reason)
        elif isinstance(event, ev.RewindEvent) and event.cause == "stop":
            self._now = replace(now, cut=True)
        elif isinstance(event, ev.RoundEvent):
            self._now = replace(now, reason="", cut=False)

    def _present(self, said: Said) -> Said:
        return replace(said, tokens=tuple(self._tokens.tokens)) if self._tokens.turn == said.turn else said


def _began(event: ev.TurnEvent) -> str:
    prompt = f"prompt of {event.prompt_tokens:,} tokens"
    match event.decision:
        case "prime":
            return f"{prompt}, read afresh"
        case "rewind":
            return f"{prompt}; went back to {event.reused:,} rows first"
    return f"{prompt}, {event.reused:,} of them held already" if event.reused else prompt
