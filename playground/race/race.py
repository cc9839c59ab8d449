"""One race: two lanes on the running engine, a burst of the one and a burst of the other, until both have ended.

They take turns burst by burst, so a moment in which the machine is busy with something else falls on both; who goes
first changes every time. Between bursts the others in the worker's line have theirs, and no clock runs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from engine.errors import EngineError
from playground.limits import Refused
from playground.race.decoder import Choosing, Decoder
from playground.race.lane import Lane
from playground.race.options import RaceOptions
from playground.race.outcome import Outcome, outcome_of

if TYPE_CHECKING:
    from engine import Engine

BURST = 16
"""Tokens of a burst: a few rounds, half a second of the default checkpoint on two cores."""
WARM_PROMPT, WARM_NEW = 8, 4
"""Tokens read and written before anything counts: first calls of a shape cost more than later ones."""
UNEXPECTED = "Something went wrong inside the app; what was measured so far is shown. The server's log has the details."
Phase = Literal["waiting", "preparing", "racing", "done", "stopped", "failed"]
ENDED = ("done", "stopped", "failed")
log = logging.getLogger(__name__)


class Race:
    """Made by `Races.start`; `run` is its job on the worker. Everything may be read at any time."""

    def __init__(
        self,
        number: int,
        options: RaceOptions,
        engine: Callable[[], Engine],
        decoder: Decoder,
        give_way: Callable[[], None],
        burst: int = BURST,
    ) -> None:
        """`engine` gives the running one when the race begins. Raises `EngineError` where there is none."""
        self.number = number
        self.options = options
        self.plain = Lane("none", 0, options.max_new)
        self.other = Lane(options.drafter, options.draft_len, options.max_new)
        self.phase: Phase = "waiting"
        self.error = ""
        """Why it failed, one sentence, or ''."""
        self.outcome: Outcome | None = None
        """Once it has ended, however it has."""
        self.model = ""
        self._engine = engine
        self._decoder = decoder
        self._give_way = give_way
        self._burst = burst
        self._stop = threading.Event()

    @property
    def lanes(self) -> tuple[Lane, Lane]:
        """Plain first."""
        return self.plain, self.other

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.phase in ENDED

    def stop(self) -> None:
        """End it within one forward; what was measured stays. Harmless when it has ended."""
        self._stop.set()

    def run(self) -> None:
        """Run it to its end. Only the worker's job calls it, once; it raises nothing."""
        engine: Engine | None = None
        end: Phase = "failed"
        try:
            if not self._stop.is_set():
                engine = self._engine()
                self._race(engine)
            end = "stopped" if self._stop.is_set() and not self._both_ended() else "done"
        except (EngineError, Refused) as known:
            self.error = str(known)
        except Exception:
            log.exception("a race failed")
            self.error = UNEXPECTED
        finally:
            self._finish(engine, end)

    def _race(self, engine: Engine) -> None:
        self.phase, self.model = "preparing", str(engine.checkpoint.id)
        prompt = self._decoder.prompt(engine, self.options.prompt)
        arms = [(lane.drafter, lane.draft_len) for lane in self.lanes]
        warm_up(engine, self._decoder, prompt, arms, self.options.choosing, self._go_on)
        for lane in self.lanes:
            lane.open(engine, prompt, self._decoder.text(engine))
        self.phase, order = "racing", list(self.lanes)
        while not self._both_ended() and self._go_on():
            for lane in order:
                if lane.reason is None and self._go_on():
                    lane.play(self._decoder, self._burst, self.options.choosing, self._go_on)
                    self._give_way()
            order.reverse()

    def _finish(self, engine: Engine | None, end: Phase) -> None:
        """Close both sessions and say what came of it; a fault here must not leave the race running for ever."""
        try:
            for lane in self.lanes:
                lane.close()
            tokenizer = None if engine is None or engine.closed else engine.tokenizer
            exact = engine is None or engine.closed or engine.exact
            if any(lane.tokens for lane in self.lanes):
                mode, stopped = self.options.choosing.mode, end != "done"
                self.outcome = outcome_of(self.plain, self.other, mode, tokenizer, stopped=stopped, exact=exact)
        except Exception:
            log.exception("a race could not be summed up")
            end, self.error = "failed", self.error or UNEXPECTED
        finally:
            self.phase = end

    def _both_ended(self) -> bool:
        return all(lane.reason not in (None, "cancelled") for lane in self.lanes)

    def _go_on(self) -> bool:
        return not self._stop.is_set()


def warm_up(
    engine: Engine,
    decoder: Decoder,
    prompt: Sequence[int],
    arms: Iterable[tuple[str, int]],
    choosing: Choosing,
    go_on: Callable[[], bool],
) -> None:
    """A few tokens of every drafter and draft length, in a session that is thrown away. Raises `EngineError`."""
    for drafter, draft_len in arms:
        if not go_on():
            return
        lane = Lane(drafter, draft_len, WARM_NEW)
        try:
            lane.open(engine, prompt[:WARM_PROMPT])
            lane.play(decoder, WARM_NEW, choosing, go_on)
        finally:
            lane.close()
