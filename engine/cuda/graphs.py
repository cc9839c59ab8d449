"""Capturing a forward once and replaying it: the only file that needs a CUDA device.

A graph reads its inputs from one tensor and leaves its results in others, all held for as long as the graph is. A
capture that fails is not tried again; the forwards then run without, and `Graphs.state` says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.cuda.static_forward import HEAD, Computed

Work = Callable[[Tensor], Computed]
"""The forward, from the static inputs."""
Capture = Callable[[Work, Tensor], Callable[[], Computed]]
"""Makes a replay of `work` on one inputs tensor; every replay leaves its results in the same tensors."""

WARM_UPS = 3
"""Runs before a capture: kernels are compiled and workspaces allocated by then."""


def stand_in(work: Work, inputs: Tensor) -> Callable[[], Computed]:
    """Stands for a capture where there is none: a replay calls the function, into the same results every time."""
    results = work(inputs)

    def replay() -> Computed:
        for held, new in zip(results, work(inputs), strict=True):
            held.copy_(new)
        return results

    return replay


class CudaCapture:
    """Captures into graphs that share one memory pool."""

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, work: Work, inputs: Tensor) -> Callable[[], Computed]:
        """As `Capture`. Raises what torch raises where something of `work` cannot be captured."""
        current = torch.cuda.current_stream(inputs.device)
        aside = torch.cuda.Stream(inputs.device)  # type: ignore[no-untyped-call]
        aside.wait_stream(current)
        with torch.cuda.stream(aside):
            for _ in range(WARM_UPS):
                work(inputs)
        current.wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        # other threads may load models meanwhile, which must not spoil the capture
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            results = work(inputs)

        def replay() -> Computed:
            graph.replay()
            return results

        return replay


def capture_for(device: torch.device) -> Capture:
    """What captures on `device`."""
    return CudaCapture() if device.type == "cuda" else stand_in


@dataclass(frozen=True)
class _Recorded:
    inputs: Tensor
    replay: Callable[[], Computed]


class Graphs:
    """The captured forwards of one trunk, by width; every session uses them."""

    def __init__(self, device: torch.device, capture: Capture | None = None) -> None:
        self.captures = 0
        """Captures tried in this object's life; one per width, or fewer where one failed."""
        self.failure = ""
        """Why there are none; empty while there may be some."""
        self._device = device
        self._capture = capture
        self._recorded: dict[int, _Recorded] = {}

    def record(self, widths: tuple[int, ...], work_at: Callable[[int], Work]) -> None:
        """Capture one forward per width, once; a failure is warned of once, and none is used then."""
        assert not self._recorded and not self.failure, "graphs are captured once"
        try:
            capture = self._capture or capture_for(self._device)
            for width in widths:
                inputs = torch.zeros(HEAD + width, dtype=torch.long, device=self._device)
                self.captures += 1
                self._recorded[width] = _Recorded(inputs, capture(work_at(width), inputs))
        except Exception as error:  # noqa: BLE001 - what a driver, a kernel or a model raises is of any type
            self._recorded.clear()
            reason = str(error).partition("\n")[0] or type(error).__name__
            self.failure = f"capturing CUDA graphs failed ({reason})"
            warnings.warn(f"Forwards run without graphs, and slower: {self.failure}.", RuntimeWarning, stacklevel=2)

    def __contains__(self, width: int) -> bool:
        return width in self._recorded

    @property
    def widths(self) -> tuple[int, ...]:
        """Captured widths, ascending."""
        return tuple(sorted(self._recorded))

    def inputs(self, width: int) -> Tensor:
        """[3 + width], where `replay` reads what to do."""
        return self._recorded[width].inputs

    def replay(self, width: int) -> Computed:
        """The forward at `width` for its inputs as they are. The results are overwritten by the next replay."""
        return self._recorded[width].replay()

    def clear(self) -> None:
        """Let go of every graph and of the memory captured with it."""
        self._recorded.clear()
