"""One load of an engine, which may be called off at any time: it ends at its next report of progress."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import EngineError
from playground.failures import ran_out_of_memory
from playground.names import short_reference
from playground.sentences import UNEXPECTED
from playground.settings import Settings

if TYPE_CHECKING:
    from engine import Engine

Progress = Callable[[str, float | None], None]
Load = Callable[[Settings, Progress], "Engine"]
Before = Callable[[Settings, Progress], None]
"""What is done ahead of a load: it may fetch, and refuses with an `EngineError`."""
log = logging.getLogger(__name__)


class LoadCancelled(Exception):
    """The load was called off. Raised out of the progress callback, through the loader; never shown as an error."""


class Loading:
    """What is wanted, and what came of it. `run` blocks; `cancel` and the readings are for any thread."""

    def __init__(self, settings: Settings, load: Load, told: Progress, before: Before | None = None) -> None:
        self.settings = settings
        self.error: Exception | None = None
        self._load = load
        self._told = told
        self._before = before
        self._engine: Engine | None = None
        self._lock = threading.Lock()
        self._cancelled = self._over = False

    @property
    def name(self) -> str:
        """The model as anyone may read it."""
        return short_reference(self.settings.model)

    @property
    def cancelled(self) -> bool:
        """Whether it was called off in time."""
        return self._cancelled

    @property
    def loaded(self) -> bool:
        """Whether there is an engine to take."""
        return self._engine is not None and not self._cancelled

    def run(self) -> None:
        """Load; whatever happens is kept for `take` and `why`."""
        try:
            self._report(f"Loading {self.name}", None)
            if self._before is not None:
                self._before(self.settings, self._report)
            self._engine = self._load(self.settings, self._report)
        except Exception as error:
            self.error = error
            if not isinstance(error, EngineError | LoadCancelled) and not self._cancelled:
                log.exception("loading %s failed", self.settings.model)

    def cancel(self) -> bool:
        """Call it off; False when it has been taken or has failed for good already."""
        with self._lock:
            self._cancelled = self._cancelled or not self._over
            return self._cancelled

    def take(self) -> Engine | None:
        """The engine, from now on its taker's; None if there is none, or it was called off and is closed here."""
        with self._lock:
            self._over = True
            engine, self._engine = self._engine, None
        if engine is not None and self._cancelled:
            engine.close()
            return None
        return engine

    def why(self) -> str:
        """One sentence: why there is no engine."""
        if self._cancelled or isinstance(self.error, LoadCancelled):
            return f"Loading {self.name} was cancelled."
        if isinstance(self.error, EngineError):
            return str(self.error)
        if ran_out_of_memory(self.error):
            return f"The memory ran out while {self.name} was being loaded: choose a smaller one, or free some memory."
        return UNEXPECTED

    def _report(self, sentence: str, fraction: float | None) -> None:
        if self._cancelled:
            raise LoadCancelled
        self._told(sentence, fraction)
