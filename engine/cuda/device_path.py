"""The way a trunk's forwards take on a device: tensors in, tensors out, a graph where one was captured, no wait.

Every forward of the trunk goes this way, eager ones too, so that all of them use the same kernels: prefills and slots
outside the pool run the very function that is captured. What comes back is not checked and not read yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.cache import CacheSlot
from engine.cuda.graphs import Capture, Graphs, Work
from engine.cuda.host_read import HostRead, Unchecked
from engine.cuda.pool import PooledSlot, PoolRows, RowPool
from engine.cuda.static_forward import Computed, compute, pack
from engine.errors import EngineError
from engine.trunk import TrunkOut
from engine.upload import ids_on
from kernels.walk import Walk

if TYPE_CHECKING:
    from engine.trunk import Trunk


class DevicePath:
    """Of one trunk, opened by `engine.cuda.fit.open_path`."""

    def __init__(self, trunk: Trunk, capture: Capture | None = None) -> None:
        self.graphs = Graphs(trunk.device, capture)
        self.pool: RowPool | None = None
        self.reads = 0
        """Times that the host waited for this device to give it numbers."""
        self._trunk = trunk

    def prepare(self, slots: int, capacity: int, widths: tuple[int, ...]) -> None:
        """Allocate `slots` slots of at least `capacity` rows and capture a forward at each of `widths`, once."""
        self.pool = RowPool(self._trunk.shapes, slots, capacity)
        with self._trunk.lock, torch.inference_mode():
            self.graphs.record(widths, self._work)
            self.pool.clear(0)  # where captures and their warm-ups wrote

    def lease(self) -> CacheSlot | None:
        """A slot of the pool, or None when all are lent."""
        return None if self.pool is None else self.pool.lease()

    def forward(
        self,
        slot: CacheSlot,
        start: int,
        tokens: Sequence[int],
        width: int,
        keep: Sequence[int] = (),
        drafts: Tensor | None = None,
    ) -> TrunkOut:
        """As `Trunk.forward`, without the check that it ends with.

        Args:
            tokens: what the host knows.
            drafts: [n] int64 on the device, columns after them; from the first negative one on there is none.
        """
        trunk = self._trunk
        real = len(tokens) + (0 if drafts is None else drafts.shape[0])
        assert 1 <= real <= width and all(0 <= c < real for c in keep)
        with trunk.lock, torch.inference_mode():
            slot.write_at(start, width)
            trunk.forwards += 1
            if self.pool is not None and isinstance(slot, PooledSlot) and slot.pool is self.pool:
                into = self.graphs.inputs(width) if width in self.graphs else None
                inputs = pack(slot.index, start, tokens, drafts, width, trunk.device, into)
                if into is not None:
                    return _own(self.graphs.replay(width), keep, real)
                rows = self.pool.rows
            else:
                inputs, rows = pack(0, start, tokens, drafts, width, trunk.device), PoolRows.of(slot)
            columns = ids_on(trunk.device, trunk.head_columns(keep)) if keep else None
            got = compute(trunk, rows, inputs, columns)
            return TrunkOut(got.logits[: len(keep)], got.hidden[:real], got.report)

    def checked(self, slot: CacheSlot, start: int, tokens: Sequence[int], width: int, keep: Sequence[int]) -> TrunkOut:
        """As `Trunk.forward`: one read, of whether it was finite. Raises EngineError."""
        out = self.forward(slot, start, tokens, width, keep)
        self.reader([self.unchecked(out, slot, start)])()
        return out

    def unchecked(self, out: TrunkOut, slot: CacheSlot, start: int) -> Unchecked:
        """A forward of this path, for the read that will vouch for it."""

        def refuse() -> EngineError:
            slot.truncate(min(slot.length, start))
            slot.scrub()
            return self._trunk.not_finite(start)

        assert out.report is not None
        return Unchecked(out.report, refuse)

    def reader(self, checks: Sequence[Unchecked], out: TrunkOut | None = None) -> HostRead:
        """What reads once for a round whose forwards are `checks` and whose verify gave `out`."""
        greedy = None
        if out is not None and out.graphed:
            assert out.report is not None
            accepted, token, status = out.report[1:2], out.report[2:3], out.report[3:4]
            greedy = Walk(accepted, token, accepted, status)
        return HostRead(checks, self._note_read, greedy)

    @property
    def state(self) -> str:
        """One sentence: which forwards replay graphs, or why none does."""
        if self.graphs.failure:
            return f"Forwards run without graphs: {self.graphs.failure}."
        widths = " or ".join(map(str, self.graphs.widths))
        return f"Rounds replay graphs captured once, at width {widths}." if widths else "No graph is captured yet."

    @property
    def nbytes(self) -> int:
        """Bytes of the pool."""
        return 0 if self.pool is None else self.pool.nbytes

    def close(self) -> None:
        """Let go of graphs and pool."""
        self.graphs.clear()
        self.pool = None

    def _work(self, width: int) -> Work:
        """The forward to capture: every column through the output head, and the greedy walk."""
        trunk, pool = self._trunk, self.pool
        assert pool is not None
        columns = torch.arange(width, device=trunk.device)
        return lambda inputs: compute(trunk, pool.rows, inputs, columns, walk=True)

    def _note_read(self) -> None:
        self.reads += 1


def _own(got: Computed, keep: Sequence[int], real: int) -> TrunkOut:
    """Copies of a graph's results, which the next replay overwrites."""
    first = list(keep) == list(range(len(keep)))
    rows = got.logits[: len(keep)].clone() if first else got.logits[ids_on(got.logits.device, list(keep))]
    return TrunkOut(rows, got.hidden[:real].clone(), got.report.clone(), graphed=True)
