"""One sweep: every prompt with every setting, some times over, in turns with plain decoding, on the running engine."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from engine.errors import EngineError
from playground.limits import Refused
from playground.names import public_name
from playground.race.cost_model import median_round_ms
from playground.race.decoder import Choosing, Decoder
from playground.race.lane import Lane
from playground.race.race import ENDED, UNEXPECTED, warm_up
from playground.sweep.machine import machine, model_of, versions
from playground.sweep.options import SweepOptions
from playground.sweep.run import Pass, PromptKept, Run, fingerprint

if TYPE_CHECKING:
    from engine import Engine

BURST = 32
"""Tokens of a burst; between two, the others in the worker's line have theirs."""
Phase = Literal["waiting", "preparing", "measuring", "done", "stopped", "failed"]
log = logging.getLogger(__name__)


class Sweep:
    """Made by `Sweeps.start`; `work` is its job on the worker. Everything may be read at any time."""

    def __init__(
        self,
        number: int,
        options: SweepOptions,
        engine: Callable[[], Engine],
        decoder: Decoder,
        give_way: Callable[[], None],
    ) -> None:
        """`engine` gives the running one when the sweep begins. Raises `EngineError` where there is none."""
        self.number = number
        self.options = options
        self.phase: Phase = "waiting"
        self.error = ""
        """Why it failed, one sentence, or ''."""
        self.kept = ""
        """What became of the result once it has ended: one sentence."""
        self.passes: list[Pass] = []
        self._head: Run | None = None
        self._engine = engine
        self._decoder = decoder
        self._give_way = give_way
        self._stop = threading.Event()
        self._spent = 0.0

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.phase in ENDED

    @property
    def run(self) -> Run | None:
        """What was measured so far; None before the first decode has ended."""
        passes = list(self.passes)
        if self._head is None or not passes:
            return None
        complete = len(passes) == self.options.passes
        return self._head.model_copy(update={"passes": passes, "complete": complete})

    @property
    def seconds_left(self) -> float | None:
        """At the speed so far, while nobody else decodes; None before the first decode has ended."""
        done = len(self.passes)
        return (self.options.passes - done) * self._spent / done if done else None

    def stop(self) -> None:
        """End it within one forward; what was measured stays. Harmless when it has ended."""
        self._stop.set()

    def work(self, at_end: Callable[[Sweep], None] = lambda sweep: None) -> None:
        """Measure. Only the worker's job calls it, once; it raises nothing. `at_end` is told before the phase ends."""
        end: Phase = "failed"
        try:
            if self._go_on():
                self._measure(self._engine())
            end = "done" if len(self.passes) == self.options.passes else "stopped"
        except (EngineError, Refused) as known:
            self.error = str(known)
        except Exception:
            log.exception("a sweep failed")
            self.error = UNEXPECTED
        finally:
            try:
                at_end(self)
            except Exception:
                log.exception("a sweep could not be kept")
                self.kept = "The result could not be kept; download it. The server's log has the details."
            finally:
                self.phase = end

    def _measure(self, engine: Engine) -> None:
        self.phase, options = "preparing", self.options
        self._head = self._header(engine)
        prompts = [self._decoder.prompt(engine, prompt.text) for prompt in options.prompts]
        arms = [(arm.drafter, arm.draft_len) for arm in options.arms]
        warm_up(engine, self._decoder, prompts[0], arms, Choosing(), self._go_on)
        self.phase = "measuring"
        for repeat, prompt, arm in options.order():
            lane = Lane(*arms[arm], options.max_new)
            if not self._decode(engine, lane, prompts[prompt]):
                return
            self._spent += lane.seconds
            self.passes.append(_record(lane, repeat, prompt, arm))

    def _decode(self, engine: Engine, lane: Lane, prompt: list[int]) -> bool:
        """One decode to its end; False when it was stopped, and then it does not count."""
        try:
            lane.open(engine, prompt)
            while lane.reason is None and self._go_on():
                lane.play(self._decoder, BURST, Choosing(), self._go_on)
                self._give_way()
        finally:
            lane.close()
        return lane.reason not in (None, "cancelled")

    def _header(self, engine: Engine) -> Run:
        options = self.options
        return Run(
            id=secrets.token_hex(8),
            name=options.name,
            created=time.time(),
            complete=False,
            machine=machine(),
            versions=versions(),
            model=model_of(engine),
            drafters=[public_name(drafter)[:200] for drafter in options.drafters],
            lengths=list(options.lengths),
            prompts=[
                PromptKept(name=p.name, category=p.category, chars=len(p.text), fingerprint=fingerprint(p.text))
                for p in options.prompts
            ],
            max_new=options.max_new,
            repeats=options.repeats,
            passes=[],
        )

    def _go_on(self) -> bool:
        return not self._stop.is_set()


def _record(lane: Lane, repeat: int, prompt: int, arm: int) -> Pass:
    rounds = lane.rounds()
    return Pass(
        arm=arm,
        prompt=prompt,
        repeat=repeat,
        tokens=len(lane.tokens),
        decoded=lane.decoded,
        first_s=lane.first_s,
        decode_s=lane.last_s - lane.first_s,
        rounds=len(rounds),
        drafted=sum(len(event.drafted) for event in rounds),
        accepted=sum(event.accepted for event in rounds),
        emitted=sum(event.emitted for event in rounds),
        round_ms=median_round_ms(rounds) or 0.0,
        width=min((event.width for event in rounds), default=0),
        text=fingerprint(lane.tokens),
    )
