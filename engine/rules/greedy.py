"""Greedy: the trunk's argmax, of penalised logits if there are penalties (Leviathan et al. 2023, temperature 0)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from engine.accept import accept_greedy, outcome_of
from engine.events import Mode
from engine.rules.protocol import Cut, Decision, DraftChooser, Drafts
from engine.rules.read import DIRECT, Read
from engine.rules.shape import as_drafts, penalised, require_ok
from engine.sampling import SamplingParams
from engine.upload import ids_on
from kernels.dispatch import pick


@dataclass(frozen=True)
class GreedyRule:
    """Argmax. Equal for equal penalties; the other settings play no part."""

    params: SamplingParams = field(default=SamplingParams(temperature=0.0))
    mode: Mode = "greedy"
    draws: bool = False

    @classmethod
    def of(cls, params: SamplingParams) -> GreedyRule:
        """The greedy rule with the penalties of `params`, and plain where there are none."""
        plain = SamplingParams(temperature=0.0)
        return cls(
            replace(params, temperature=0.0, top_k=0, top_p=1.0, min_p=0.0, seed=None) if params.penalised else plain
        )

    @property
    def needs_context(self) -> bool:
        """Only penalties read it."""
        return self.params.penalised

    def start(self, counter: int) -> int:
        """Where it stands."""
        return counter

    def choose(self, logits: Tensor, context: Sequence[int], index: int) -> int:
        """The argmax of the row."""
        return int(
            penalised(logits[None], self.params, context, ())[0].argmax() if self.needs_context else logits.argmax()
        )

    def draft_chooser(self, context: Sequence[int], index: int, cut: Cut, vocab: int) -> DraftChooser | None:
        """The drafter's own argmax, of its penalised logits."""
        return _Argmax(self.params, list(context), cut) if self.needs_context or cut > 0 else None

    def accept(
        self,
        logits: Tensor,
        context: Sequence[int],
        drafts: Drafts,
        chooser: DraftChooser | None,
        index: int,
        tests: int,
        stop_ids: Collection[int],
        read: Read = DIRECT,
    ) -> Decision:
        """The longest prefix of drafts that equals the trunk's choices."""
        if read.once:
            return self._accept_once(logits, context, drafts, stop_ids, read)
        assert not isinstance(drafts, Tensor)
        rows = penalised(logits, self.params, context, drafts) if self.needs_context else logits
        return Decision(accept_greedy(drafts, rows.argmax(dim=-1).tolist(), stop_ids))

    def _accept_once(
        self, logits: Tensor, context: Sequence[int], drafts: Drafts, stop_ids: Collection[int], read: Read
    ) -> Decision:
        """As `accept`, walked on the device."""
        ids = ids_on(logits.device, drafts)
        walk = None if self.needs_context else read.greedy
        if walk is None:
            rows = penalised(logits, self.params, context, ids) if self.needs_context else logits
            walk = pick("greedy_walk", logits.device)(rows[None], ids[None])
        (accepted,), (token,), (status,), known = read(walk.accepted, walk.token, walk.status, ids)
        require_ok(status)
        drafted = as_drafts(known)
        return Decision(outcome_of(drafted, int(accepted), int(token), stop_ids), drafted=tuple(drafted))

    def scores(self, logits: Tensor, context: Sequence[int], drafts: Sequence[int]) -> Tensor:
        """The logits, penalised."""
        return penalised(logits, self.params, context, drafts)

    def replay(self, logits: Tensor, context: Sequence[int], index: int) -> int | None:
        """As `choose`."""
        return self.choose(logits, context, index)

    def describe(self) -> tuple[int | None, tuple[tuple[str, float], ...]]:
        """No seed: nothing is drawn."""
        return None, self.params.as_settings()


class _Argmax:
    """Drafts by argmax, ended by the cut."""

    def __init__(self, params: SamplingParams, context: list[int], cut: Cut) -> None:
        self.probabilities: list[Tensor] = []
        self.statuses: list[Tensor] = []
        self._params, self._context, self._cut = params, context, cut
        self._ids: Tensor | None = None

    def __call__(self, logits: Tensor) -> int | None:
        row = penalised(logits[None], self._params, self._context, ())[0]
        token = int(row.argmax())
        if self._cut > 0 and float(torch.softmax(row, dim=-1)[token]) < self._cut:
            return None
        self._context.append(token)
        return token

    def on_device(self, logits: Tensor) -> Tensor:
        self._ids = ids_on(logits.device, self._context) if self._ids is None else self._ids
        row = penalised(logits[None], self._params, self._ids, ())
        token = row.argmax(dim=-1)
        if self._cut > 0:
            token = torch.where(torch.softmax(row, dim=-1).amax(dim=-1) < self._cut, -1, token)
        self._ids = torch.cat([self._ids, token])
        return token


GREEDY = GreedyRule()
"""Plain greedy decoding."""
