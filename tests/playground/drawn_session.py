"""A made-up session with something of everything, and a page that shows it: what the panels draw is read from there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import gradio as gr

from engine import events as ev
from engine.sampling import SamplingParams
from engine.trace import Trace, TraceHeader
from playground.inspector import inspector_functions
from playground.panels import PanelFeed, figure_assets, panel_assets, token_assets
from tests.playground.panels_demo import Demo
from tests.playground.synthetic import SyntheticSession
from tests.playground.words import WordTokenizer

SEED = 2**63 + 1
BLOCK = 2**20
"""A coupled answer begins at a multiple of this draw."""
E = TypeVar("E", bound=ev.Event)


class RichTrace(Trace):
    """Gives each round times of its own and, while something is drawn, the numbers of its draws and accept tests."""

    def __init__(self) -> None:
        super().__init__(TraceHeader("rich"))
        self.random = Random(5)
        self.mode: ev.Mode = "greedy"
        self.sctr = self.uctr = 0
        self.cause = "checkpoint"
        """Of the next rewind that a visitor asked for."""

    def append(self, event: E) -> E:
        if isinstance(event, ev.RoundEvent):
            said: dict[str, Any] = self._times() | self._numbers(event)
            return super().append(replace(event, **said))
        if isinstance(event, ev.RewindEvent) and event.cause == "checkpoint":
            return super().append(replace(event, cause=cast(Any, self.cause)))
        return super().append(event)

    def _times(self) -> dict[str, float]:
        spans = {"draft_ms": (0.1, 6.0), "verify_ms": (12.0, 40.0), "accept_ms": (0.1, 2.0), "host_ms": (0.2, 18.0)}
        return {name: round(self.random.uniform(*span), 2) for name, span in spans.items()}

    def _numbers(self, event: ev.RoundEvent) -> dict[str, Any]:
        if self.mode == "greedy":
            return {}
        drafted, kept = len(event.drafted), event.accepted
        count = 0 if self.mode == "coupled" else kept + (event.bonus is not None and kept < drafted)
        tests = [self._test(place < kept) for place in range(count)]
        draws = kept + 1 if self.mode == "coupled" else drafted + (event.bonus is not None)
        said: dict[str, Any] = {"mode": self.mode, "sctr": self.sctr, "draws": draws, "uctr": self.uctr}
        self.sctr, self.uctr = self.sctr + draws, self.uctr + count
        return said | {f"test_{name}": tuple(test[i] for test in tests) for i, name in enumerate("pqu")}

    def _test(self, passes: bool) -> tuple[float, float, float]:
        while True:
            p, q, u = (round(self.random.uniform(0.02, 0.98), 3) for _ in range(3))
            if (u * q < p) == passes and (p < q) == (not passes or self.random.random() < 0.7):
                return p, q, u


class RichSession(SyntheticSession):
    """Also samples, flushes, and goes back for every cause there is."""

    trace: RichTrace

    def __init__(self) -> None:
        super().__init__(seed=9)
        self.trace = RichTrace()

    def choose(self, mode: ev.Mode) -> None:
        """How tokens are chosen from here on."""
        self.trace.mode = mode
        drawn = mode != "greedy"
        if mode == "coupled":
            self.trace.sctr = -(-self.trace.sctr // BLOCK) * BLOCK
        settings = SamplingParams(temperature=0.8 if drawn else 0.0, top_p=0.9).as_settings()
        seed = SEED if drawn else None
        self.trace.append(ev.SamplingEvent(mode=mode, seed=seed, settings=settings, pos=self.committed, turn=0))

    def turn(self, prompt: int = 24) -> None:
        super().turn(prompt)
        self._draw("first")

    def resume(self) -> None:
        promotes = not self.pending
        super().resume()
        if promotes:
            self._draw("resume")

    def rounds_of(self, count: int, over: int = 0) -> None:
        """A burst of so many rounds. The last one has more than `over` tokens: rounds go on until it has."""
        for _ in range(count):
            emitted = self.round()
        while emitted <= over:
            emitted = self.round()
        self.end_burst(over)

    def back(self, to: int, cause: str) -> None:
        self.trace.cause = cause
        self.rewind(to)
        self.next_pred = None if cause == "prime" else self.next_pred

    def flush(self) -> None:
        """Give the carried token its row."""
        token, pos, self.next_pred = self.history[-1], self.committed, self._id()
        self.trace.append(
            ev.FlushEvent(turn=self.turn_no, pos=pos, token=token, next_pred=self.next_pred, width=4, ms=1.0)
        )
        self.pending = False
        self._pending("flush", token, pos, "round", "PREDICTED")

    def unpark(self) -> None:
        """Carry a flushed token again."""
        start = self.committed
        self.pending, self.next_pred = True, None
        self.trace.append(
            ev.RewindEvent(turn=self.turn_no, start=start, to=start - 1, cause="unpark", retained=tuple(self.points))
        )

    def slot(self, action: str) -> None:
        """The rows are given up, or computed again."""
        self.trace.append(ev.ContextEvent(action=cast(Any, action), used=self.committed, max_ctx=self.max_ctx))

    def _draw(self, cause: str) -> None:
        trace = self.trace
        if trace.mode == "greedy":
            return
        trace.append(
            ev.DrawEvent(
                mode=trace.mode,
                cause=cast(Any, cause),
                token=self.history[-1],
                sctr=trace.sctr,
                pos=self.committed,
                turn=self.turn_no,
            )
        )
        trace.sctr += 1


def play_richly(s: RichSession) -> Iterator[None]:
    """Seven turns, yielding where a page may be told."""
    s.turn()
    s.rounds_of(6)
    yield
    s.resume()
    s.rounds_of(4, over=2)
    s.resume()  # what was past the burst is shown at once
    yield
    s.rounds_of(2, over=3)
    yield
    s.turn()  # and here it is dropped
    s.rounds_of(3)
    s.resume()
    while s.next_pred is None:  # a round with enough tokens for a trim
        s.round(trim=2)
    s.end_burst()
    yield
    s.resume()
    s.rounds_of(3)
    while not _stopped_early(s.trace.of(ev.RoundEvent)[-1]):
        s.resume()
        s.round(stop=True)
        s.end_burst()
    yield
    yield from _going_back(s)
    s.choose("rejection")
    s.turn()
    for _ in range(2):
        s.rounds_of(5, over=2)
        s.resume()
        yield
    s.rounds_of(3, over=3)
    yield


def _stopped_early(event: ev.RoundEvent) -> bool:
    """Drafts stood behind an accepted stop token."""
    return event.bonus is None and event.accepted < len(event.drafted)


def _going_back(s: RichSession) -> Iterator[None]:
    s.back(s.points[1], "checkpoint")
    yield
    s.choose("rejection")
    s.turn()
    s.rounds_of(5)
    s.back(len(s.history) - 3, "stop")
    yield
    s.resume()
    s.rounds_of(2)
    s.cancelled_turn()
    s.choose("coupled")
    s.turn()
    s.rounds_of(4)
    yield
    s.flush()
    s.unpark()
    s.resume()
    s.rounds_of(2)
    s.slot("evicted")
    yield
    s.slot("reprimed")
    s.back(s.points[0], "prompt")
    s.choose("greedy")
    s.turn()
    s.rounds_of(4)
    s.back(0, "prime")
    s.choose("coupled")
    s.turn(prompt=40)
    s.rounds_of(3)
    yield


class Rich(Demo):
    """The page. `session` and `feed` are those of the latest run."""

    session: RichSession

    def run(self) -> Iterator[str]:
        self.session, self.done = RichSession(), False
        self.feed = PanelFeed(f"rich-{time.monotonic_ns()}", WordTokenizer())
        for _ in play_richly(self.session):
            yield self.feed.update(self.events(), self.session.status())
            time.sleep(self.interval)
        self.done = True
        yield self.feed.update([], self.session.status(running=False))

    def events(self) -> list[ev.Event]:
        """Everything that happened."""
        return self.session.trace.since(0)

    def looks(self) -> list[Any]:
        """The inspector's functions, on this session's trace."""
        nobody = SimpleNamespace(registry=SimpleNamespace(get=lambda sid: None))
        return inspector_functions(cast(Any, nobody), lambda sid: (self.feed, self.events()))

    def blocks(self) -> gr.Blocks:
        def resync(sid: str) -> str:
            return self.resync(sid)

        with gr.Blocks(analytics_enabled=False, title="drawn") as page:
            start = gr.Button("Run", elem_id="run")
            gr.HTML(**figure_assets().options())
            panels = gr.HTML(**panel_assets().options(), server_functions=[resync])
            gr.HTML(**token_assets().options(), server_functions=self.looks())
            start.click(self.run, outputs=panels, show_progress="hidden", api_name=False)
        return page
