"""Draft model: a smaller checkpoint with the same tokenizer proposes by plain greedy decoding (Leviathan et al. 2023).

The model is loaded once per engine (`DraftModel`); every session has its own rows (`ModelDrafter`), preallocated and
truncated by length like the trunk's. A row depends on its tokens alone, so rows of accepted drafts stay: one forward
catches up with what is missing (after a full acceptance the last draft and the bonus) and gives the first draft, and
each further draft is one forward of one row. Where the model has a device path, these forwards are replays of one
graph, and the drafts can stay on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.cache import CacheSlot
from engine.cuda.host_read import Unchecked
from engine.drafters.protocol import Proposal
from engine.errors import DrafterMismatch, EngineError
from engine.trunk import Trunk, TrunkOut

CATCH_UP = 128
"""Rows per forward while catching up with a session that is far ahead."""
PATH_WIDTH = 2
"""Columns of every drafting forward on the device path: what a full acceptance leaves missing. One column fewer would
be no faster and would need a graph of its own."""


@dataclass(frozen=True)
class DraftModel:
    """A loaded draft checkpoint, shared by the sessions of one engine."""

    name: str
    """`model:REF`."""
    trunk: Trunk
    vocab: int
    """Ids it may propose: the first `vocab` columns of its logits."""
    max_ctx: int
    """Rows it can hold; drafting stops there."""
    nbytes: int
    """Bytes of its weights."""

    def new_slot(self) -> CacheSlot:
        """Rows for one session, from the device path's pool while it has some."""
        slot = None if self.trunk.path is None else self.trunk.path.lease()
        return self.trunk.new_slot(self.max_ctx + PATH_WIDTH) if slot is None else slot


class ModelDrafter:
    """One session's rows in a draft model's cache."""

    needs_hidden = False

    def __init__(self, model: DraftModel) -> None:
        self.name = model.name
        self.max_ctx: int | None = model.max_ctx
        self.forwards = 0
        self._model = model
        self._slot: CacheSlot | None = None
        self._tokens: list[int] = []
        self._rows: list[int] = []  # tokens whose rows the cache holds: a prefix of the session, then own guesses

    def start(self, committed: Sequence[int], last_h: Tensor | None) -> None:
        """Join at `committed`; its rows are written with the first proposal. An empty start gives the rows back."""
        self._tokens, self._rows, self._slot = list(committed), [], None

    def observe(self, tokens: Sequence[int], hidden: Tensor | None) -> None:
        """Note what was committed. Own guesses that turned out right keep their rows."""
        for token in tokens:
            at = len(self._tokens)
            self._tokens.append(token)
            if at < len(self._rows) and self._rows[at] != token:
                del self._rows[at:]

    def truncate(self, length: int, last_h: Tensor | None) -> None:
        """Forget tokens past `length`. Their rows stay until other tokens take their places."""
        del self._tokens[length:]

    def propose(self, pending: int, k: int, last_h: Tensor | None) -> list[int]:
        """Greedy continuation of the session and `pending`: one forward to catch up, one for each further draft."""
        return self.propose_by(lambda row: int(row.argmax()), pending, k, last_h)

    def propose_by(
        self, choose: Callable[[Tensor], int | None], pending: int, k: int, last_h: Tensor | None
    ) -> list[int]:
        """As `propose`, each draft chosen from the draft model's row by `choose`, which may end them."""
        known, missing = self._missing(pending)
        k = min(k, self._model.max_ctx - len(self._tokens))
        draft: list[int] = []
        while missing and len(draft) < k:
            token = choose(self._forward(known, missing))
            if token is None:
                break
            draft.append(token)
            known += len(missing)
            missing = draft[-1:]
        return draft

    def propose_on_device(self, choose: Callable[[Tensor], Tensor] | None, pending: int, k: int) -> Proposal | None:
        """As `propose_by`, without a read."""
        model, path = self._model, self._model.trunk.path
        k = min(k, model.max_ctx - len(self._tokens))
        if path is None or k < 1:
            return None
        choose = choose or (lambda row: row.argmax(dim=-1, keepdim=True))
        known, missing = self._missing(pending)
        checks: list[Unchecked] = []

        def forward(slot: CacheSlot, start: int, *args: Any, **kwargs: Any) -> TrunkOut:
            out = path.forward(slot, start, *args, **kwargs)
            check = path.unchecked(out, slot, start)

            def refuse() -> EngineError:
                del self._rows[start:]
                return check.refuse()

            checks.append(Unchecked(check.report, refuse))
            return out

        row = self._forward(known, missing, forward)
        drafts = [choose(row)]
        slot = self._slot
        assert slot is not None
        for start in range(known + len(missing), known + len(missing) + k - 1):
            out = forward(slot, start, [], PATH_WIDTH, keep=[0], drafts=drafts[-1])
            slot.truncate(start + 1)
            self.forwards += 1
            drafts.append(choose(out.logits[0, : model.vocab]))
        return Proposal(torch.cat(drafts), tuple(checks))

    def learned(self, drafts: Sequence[int]) -> None:
        """Own guesses of `propose_on_device` have rows, but for the last."""
        self._rows += drafts[:-1]

    def release(self) -> None:
        """Give the rows back; the next proposal writes them again."""
        self._slot, self._rows = None, []

    def snapshot(self) -> object:
        """The number of tokens observed."""
        return len(self._tokens)

    def restore(self, snapshot: object, last_h: Tensor | None) -> None:
        """Truncate to that number."""
        assert isinstance(snapshot, int) and snapshot <= len(self._tokens)
        self.truncate(snapshot, last_h)

    @property
    def slot(self) -> CacheSlot | None:
        """Its rows; None before the first proposal and after a release."""
        return self._slot

    @property
    def nbytes(self) -> int:
        """Bytes of its rows."""
        return 0 if self._slot is None else self._slot.nbytes

    def _missing(self, pending: int) -> tuple[int, list[int]]:
        """How many rows stand, and the tokens after them; `pending` is always computed: its logits are needed."""
        if self._slot is None:
            self._slot = self._model.new_slot()
        known = min(len(self._rows), len(self._tokens))
        return known, [*self._tokens[known:], pending]

    def _forward(self, start: int, tokens: list[int], forward: Callable[..., TrunkOut] | None = None) -> Tensor:
        """Write rows for `tokens` from `start`; the logits [v] after the last. `forward` is the trunk's by default."""
        slot, trunk = self._slot, self._model.trunk
        assert slot is not None
        del self._rows[start:]
        slot.truncate(start)
        at = 0
        while at < len(tokens):
            size = _chunk(len(tokens) - at, trunk.path is not None)
            chunk, last = tokens[at : at + size], at + size == len(tokens)
            width = PATH_WIDTH if last and trunk.path is not None else size
            out = (forward or trunk.forward)(slot, start + at, chunk, width, keep=[size - 1] if last else ())
            at += size
            slot.truncate(start + at)
            self._rows += chunk
            self.forwards += 1
        return out.logits[0, : self._model.vocab]


def _chunk(left: int, on_path: bool) -> int:
    """Rows of the next forward of a catch-up with `left` to write; on the device path the last is a graph's."""
    if on_path and left > PATH_WIDTH:
        left -= PATH_WIDTH
    return min(left, CATCH_UP)


def require_same_tokenizer(trunk: Any, draft: Any, trunk_name: str, draft_name: str) -> int:
    """The number of ids both know by the same pieces; rows past a tokenizer's last id are padding and no difference.

    Raises:
        DrafterMismatch: naming the first id whose pieces differ.
    """
    ours = {index: piece for piece, index in trunk.get_vocab().items()}
    theirs = {index: piece for piece, index in draft.get_vocab().items()}
    count = max(max(ours, default=-1), max(theirs, default=-1)) + 1
    for index in range(count):
        if ours.get(index) != theirs.get(index):
            raise DrafterMismatch(
                f"{draft_name} has another tokenizer than {trunk_name}: id {index} is {theirs.get(index)!r} there and "
                f"{ours.get(index)!r} here; choose a draft model of the same family."
            )
    return count
