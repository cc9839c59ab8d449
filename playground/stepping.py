"""Step mode: a turn that waits before each round, or before each stage of one, until its visitor goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from playground.step_words import Level, said
from playground.worker import Worker

if TYPE_CHECKING:
    from engine.round import Round, Stage
    from playground.panels.token_text import Tokenizer

Pace = Literal["run", "round", "stage"]
"""Run on; wait before every round; wait before every stage."""
PACES: tuple[Pace, ...] = ("run", "round", "stage")


@dataclass(frozen=True)
class Waiting:
    """Where a turn waits, in words for each reading level: what has just happened, and what comes next."""

    stage: Stage
    engineer: str
    student: str

    def words(self, level: Level) -> str:
        """In the words of one level."""
        return self.engineer if level == "engineer" else self.student


class Stepping:
    """The gate of one conversation. Its page sets the pace and steps; the turn's thread waits in `before`."""

    def __init__(self, worker: Worker, changed: Callable[[Waiting | None], None]) -> None:
        """`changed` is told where the turn waits, and None when it goes on."""
        self.pace: Pace = "run"
        self.level: Level = "engineer"
        """In whose words a page tells where the turn waits."""
        self._ending = False
        self._worker = worker
        self._changed = changed
        self._go = threading.Event()
        self._stepped = False
        self._waiting: Waiting | None = None

    @property
    def watching(self) -> bool:
        """Whether the next round is to wait somewhere."""
        return self.pace != "run" and not self._ending

    def set_pace(self, pace: Pace) -> None:
        """Change the pace; `run` lets a waiting turn go on."""
        self.pace = pace
        if pace == "run":
            self.step()

    def set_level(self, level: Level) -> None:
        """Change the words, of a turn that waits too."""
        self.level = level
        if self._waiting is not None:
            self._changed(self._waiting)

    def step(self) -> None:
        """Let a waiting turn go to its next stop. Harmless otherwise."""
        self._stepped = True
        self._go.set()

    def begin(self) -> None:
        """A turn begins."""
        self._ending = False

    def release(self) -> None:
        """The turn is to end: it waits no more. The next one waits as before."""
        self._ending = self._stepped = True
        self._go.set()

    def before(self, stage: Stage, step: Round, tokenizer: Tokenizer) -> None:
        """Called by the turn before each stage; returns when the visitor goes on, or someone needs the turn to end."""
        if self._ending or self.pace == "run" or (self.pace == "round" and stage != "draft"):
            return
        self._go.clear()
        self._stepped = False
        self._waiting = Waiting(stage, *(said(stage, step, tokenizer, level) for level in ("engineer", "student")))
        self._changed(self._waiting)
        self._worker.leave(self._go)
        self._waiting = None
        if not self._stepped:
            self._ending = True  # called back: whoever needs the engine does not wait for a visitor
        self._changed(None)
