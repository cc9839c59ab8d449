"""A loader for tests of switching models: each model waits at its gate, telling of its progress, then does as named."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, cast

from engine.errors import CheckpointError
from playground.models.room import Need, NoRoom
from playground.service import Service
from playground.settings import Settings
from tests.playground.fakes import FakeChat, FakeEngine, fake_check

GB = 1_000_000_000


class CountedEngine(FakeEngine):
    """Says what it holds: 2 GB of weights and 1 GB of rows."""

    def memory(self) -> dict[str, int]:
        return {"weights": 2 * GB, "draft_weights": 0, "slots": GB}


class GatedLoads:
    """`bad` fails, `broken` fails without a sentence, `large` lacks memory while another is loaded; others load."""

    def __init__(self, pace: float = 0.002, answer: int = 5000) -> None:
        self.pace, self.answer = pace, answer
        self.gates: dict[str, threading.Event] = defaultdict(threading.Event)
        self.began: dict[str, threading.Event] = defaultdict(threading.Event)
        self.stopped: list[str] = []
        """Loads that the progress callback stopped."""
        self.made: list[CountedEngine] = []
        self.beside: list[int] = []
        """At the begin of each load, how many engines were still open."""

    def __call__(self, settings: Settings, progress: Callable[[str, float | None], None]) -> Any:
        name = settings.model
        self.beside.append(sum(not engine.closed for engine in self.made))
        self.began[name].set()
        step = 0
        try:
            while not self.gates[name].is_set():
                step = min(step + 1, 99)
                progress(f"Fetching {name}: model.safetensors", step / 100)
                time.sleep(0.002)
        except Exception:
            self.stopped.append(name)
            raise
        if name == "bad":
            raise CheckpointError("The folder bad has no config.json; give another.")
        if name == "broken":
            raise KeyError("secret")
        if name == "starved":
            raise MemoryError
        if name == "large" and self.beside[-1]:
            raise NoRoom("large", Need(4 * GB, 0), 3 * GB, "cpu")
        if name == "huge":
            raise NoRoom("huge", Need(400 * GB, 0), 3 * GB, "cpu")
        engine = CountedEngine(pace=self.pace, answer=self.answer)
        engine.checkpoint.id = name
        self.made.append(engine)
        return engine


def running_service(*opened: str, **more: Any) -> tuple[Service, GatedLoads]:
    """A service whose model `first` runs; the gates of `opened` are open."""
    loads = GatedLoads(**more)
    for name in ("first", *opened):
        loads.gates[name].set()
    app = Service(Settings(model="first"), loads, cast(Any, FakeChat), fake_check)
    app.start()
    assert app.wait(5)
    return app, loads


def eventually(true: Callable[[], object], seconds: float = 5.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.002)
