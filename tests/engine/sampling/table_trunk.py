"""An engine whose model is a table: the logits depend on the last two tokens, so every distribution has a closed form.

Everything above the trunk is the product's own: sessions, bursts, rounds, rules, slots, flush and rewind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from engine import Engine, EngineError
from engine.cuda.host_read import HostRead, Unchecked
from engine.drafters import Drafter
from engine.drafters.protocol import Proposal
from engine.slots import SlotPool
from engine.trace import Trace, TraceHeader
from engine.trunk import TrunkOut
from engine.width import WidthPlan

VOCAB = 5


def random_table(seed: int, spread: float = 1.2, vocab: int = VOCAB) -> Tensor:
    """[V, V, V]: logits after the token before the last (first index) and the last one (second)."""
    return torch.randn(vocab, vocab, vocab, generator=torch.Generator().manual_seed(seed)) * spread


def row_after(table: Tensor, history: Sequence[int]) -> Tensor:
    """The logits [V] after `history`, which is not empty; a first token counts as preceded by token 0."""
    return table[history[-2] if len(history) > 1 else 0, history[-1]]


class TableSlot:
    """Rows are token ids. Rows past `length` stay, stale, as in a real slot."""

    nbytes = 0

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.length = 0
        self.rows = [0] * capacity

    def truncate(self, length: int) -> None:
        assert 0 <= length <= self.capacity
        self.length = length

    def scrub(self) -> None:
        self.rows[self.length :] = [0] * (self.capacity - self.length)


class TableTrunk:
    """Reads the table at what the slot's rows say, not at what the caller believes is there."""

    device = torch.device("cpu")
    dtype = torch.float32

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self.vocab_rows = table.shape[0]
        self.forwards = 0

    def new_slot(self, capacity: int) -> TableSlot:
        return TableSlot(capacity)

    def forward(
        self, slot: TableSlot, start: int, tokens: Sequence[int], width: int, keep: Sequence[int] = ()
    ) -> TrunkOut:
        """Write rows for `tokens` and padding; logits of the columns `keep`."""
        n = len(tokens)
        assert 1 <= n <= width and start <= slot.length and start + width <= slot.capacity
        self.forwards += 1
        slot.rows[start : start + width] = [*tokens, *[tokens[-1]] * (width - n)]
        rows = [row_after(self.table, slot.rows[max(0, start + c - 1) : start + c + 1]) for c in keep]
        logits = torch.stack(rows) if rows else torch.empty(0, self.vocab_rows)
        hidden = torch.tensor([[float(start + i), float(token)] for i, token in enumerate(tokens)])
        return TrunkOut(logits, hidden)


class TablePath:
    """Stands in for a device path: drafts come in a tensor, and a round is read once."""

    def __init__(self, trunk: TableTrunk) -> None:
        self.reads = 0
        self._trunk = trunk

    def forward(
        self,
        slot: TableSlot,
        start: int,
        tokens: Sequence[int],
        width: int,
        keep: Sequence[int] = (),
        drafts: Tensor | None = None,
    ) -> TrunkOut:
        """As the trunk's; from the first negative draft on there is none, and those columns are padding."""
        unread = [] if drafts is None else drafts.tolist()
        columns = [*tokens, *unread]
        for at in range(len(tokens), len(columns)):
            columns[at] = columns[at] if min(columns[len(tokens) : at + 1]) >= 0 else columns[at - 1]
        return replace(self._trunk.forward(slot, start, columns, width, keep), report=torch.ones(1))

    def unchecked(self, out: TrunkOut, slot: TableSlot, start: int) -> Unchecked:
        assert out.report is not None
        return Unchecked(out.report, lambda: EngineError("Tables are finite."))

    def reader(self, checks: Sequence[Unchecked], out: TrunkOut | None = None) -> HostRead:
        return HostRead(checks, self._count)

    def _count(self) -> None:
        self.reads += 1


class TableEngine(Engine):
    """As the product's engine, without a checkpoint. `device`: rounds take the device's path."""

    def __init__(
        self,
        table: Tensor,
        *,
        max_ctx: int = 400,
        slots: int = 4,
        stop_ids: frozenset[int] = frozenset(),
        device: bool = False,
    ) -> None:
        self.closed = False
        self.debug = True
        self.max_ctx, self.max_draft_len, self.prefill_chunk = max_ctx, 7, 64
        self.trunk = TableTrunk(table)
        self.device_path = TablePath(self.trunk) if device else None
        self.widths = WidthPlan(8, (4, 8, 16, 64), True, "A table.")
        self.slots = SlotPool(self.trunk, slots, max_ctx + self.widths.width)
        self._stops = stop_ids
        self._default = ("none", 7)

    @property
    def stop_ids(self) -> frozenset[int]:
        return self._stops

    def new_trace(self) -> Trace:
        return Trace(TraceHeader(checkpoint="table"))


class _Rows:
    """What every drafter here keeps: the committed tokens, and that the session keeps them right."""

    needs_hidden = False
    max_ctx: int | None = None

    def __init__(self) -> None:
        self.rows: list[int] = []

    def release(self) -> None:
        """Its rows are a list; nothing to give back."""

    def start(self, committed: Sequence[int], last_h: Tensor | None) -> None:
        self.rows = list(committed)

    def observe(self, tokens: Sequence[int], hidden: Tensor | None) -> None:
        self.rows.extend(tokens)

    def truncate(self, length: int, last_h: Tensor | None) -> None:
        assert length <= len(self.rows), "truncated past what it was shown"
        assert last_h is None or not length or last_h.tolist() == [length - 1, self.rows[length - 1]], "wrong hidden"
        del self.rows[length:]

    def snapshot(self) -> object:
        return len(self.rows)

    def restore(self, snapshot: object, last_h: Tensor | None) -> None:
        assert isinstance(snapshot, int)
        self.truncate(snapshot, last_h)


class TableDrafter(_Rows):
    """A drafter with probabilities: its own table."""

    name = "table"

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = table

    def propose(self, pending: int, k: int, last_h: Tensor | None) -> list[int]:
        return self.propose_by(lambda row: int(row.argmax()), pending, k, last_h)

    def propose_by(
        self, choose: Callable[[Tensor], int | None], pending: int, k: int, last_h: Tensor | None
    ) -> list[int]:
        text = [*self.rows, pending]
        for _ in range(k):
            token = choose(row_after(self.table, text))
            if token is None:
                break
            text.append(token)
        return text[len(self.rows) + 1 :]

    def propose_on_device(self, choose: Callable[[Tensor], Tensor] | None, pending: int, k: int) -> Proposal:
        """All `k`, of which those after a negative one are no drafts."""
        text, drafts = [*self.rows, pending], []
        for _ in range(k):
            row = row_after(self.table, text)
            drafts.append(row.argmax(dim=-1, keepdim=True) if choose is None else choose(row))
            text.append(max(0, int(drafts[-1])))
        return Proposal(torch.cat(drafts), ())

    def learned(self, drafts: Sequence[int]) -> None:
        """It computes no rows."""


class PointDrafter(_Rows):
    """A deterministic guesser without probabilities: what its table likes best, and every third time second best."""

    name = "point"

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = table

    def propose(self, pending: int, k: int, last_h: Tensor | None) -> list[int]:
        text = [*self.rows, pending]
        for _ in range(k):
            best = row_after(self.table, text).topk(2).indices
            text.append(int(best[int(len(text) % 3 == 0)]))
        return text[len(self.rows) + 1 :]


TRUNK = random_table(1)
DRAFT = TRUNK + random_table(2, 0.8)
"""A drafter's table that is often right."""


def table_drafter(name: str) -> str | Drafter:
    """A drafter of the table engine, by name."""
    kinds = {"table": TableDrafter, "point": PointDrafter}
    return kinds[name](DRAFT) if name in kinds else name
