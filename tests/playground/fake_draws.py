"""The random numbers of a fake session: counted as the engine counts them, made up otherwise."""

from __future__ import annotations

from typing import Any

from engine import events as ev
from engine.rules.coupled import BLOCK
from engine.sampling import SamplingParams
from engine.trace import Trace


class FakeDraws:
    """Counters of one session, and the events that tell of them."""

    def __init__(self, trace: Trace, seed: int) -> None:
        self.sctr = self.uctr = 0
        self.mode: ev.Mode = "greedy"
        self._trace, self._seed = trace, seed
        self._rule: object = None

    def begin(self, sampling: SamplingParams | None, verify: Any, pos: int, turn: int) -> None:
        """A turn begins with these settings."""
        drawn = sampling is not None and sampling.temperature > 0
        self.mode = (verify or "rejection") if drawn else "greedy"
        if (rule := (self.mode, sampling if drawn else None)) == self._rule or (self._rule is None and not drawn):
            return
        self._rule = rule
        seed = None if sampling is None or not drawn else self._seed if sampling.seed is None else sampling.seed
        settings = (sampling or SamplingParams(temperature=0.0)).as_settings()
        self._trace.append(ev.SamplingEvent(mode=self.mode, seed=seed, settings=settings, pos=pos, turn=turn))

    def first(self, token: int, pos: int, turn: int) -> None:
        """The first token of an answer."""
        if self.mode == "greedy":
            return
        if self.mode == "coupled":
            self.sctr = -(-self.sctr // BLOCK) * BLOCK
        self._trace.append(ev.DrawEvent(mode=self.mode, cause="first", token=token, sctr=self.sctr, pos=pos, turn=turn))
        self.sctr += 1

    def of_round(self, drafted: int, accepted: int) -> dict[str, Any]:
        """What a round's event says of them; a drafter without probabilities, and a token of the trunk's own."""
        if self.mode == "greedy":
            return {}
        tests = accepted + (accepted < drafted) if self.mode == "rejection" else 0
        draws = 1 if self.mode == "rejection" else accepted + 1
        said: dict[str, Any] = {"mode": self.mode, "sctr": self.sctr, "draws": draws, "uctr": self.uctr}
        said["test_u"] = tuple(((self.uctr + i) % 7 + 1) / 10 for i in range(tests))
        said["test_q"] = (1.0,) * tests
        said["test_p"] = tuple(u + 0.05 if i < accepted else u / 2 for i, u in enumerate(said["test_u"]))
        self.sctr, self.uctr = self.sctr + draws, self.uctr + tests
        return said
