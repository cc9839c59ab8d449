"""Sampling with shared Gumbel noise: the stream of plain sampling, token for token (Gumbel-max coupling).

    token_i = argmax_v (score_i(v) + g(seed, i, v)),   i = its index: answer number and place, see `BLOCK`

The noise belongs to the emitted token's index and nothing else. So the trunk's choice at a column does not depend on
the drafter, on K or on how the turn is cut into bursts; a drafter that uses the same noise guesses it more often.
Acceptance is equality, as in greedy decoding.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.accept import outcome_of
from engine.events import Mode
from engine.rules.protocol import Cut, Decision, DraftChooser, Drafts
from engine.rules.read import DIRECT, Read
from engine.rules.sampled import SampledRule
from engine.rules.shape import Ids, as_drafts, require_ok, scores
from engine.upload import ids_on
from kernels.dispatch import pick
from kernels.walk import Walk

BLOCK = 2**20
"""Every answer begins at a multiple of this, which no context is longer than."""


@dataclass(frozen=True)
class CoupledRule(SampledRule):
    """Exact in stream: with one seed, the tokens of plain sampling."""

    mode: Mode = "coupled"

    def start(self, counter: int) -> int:
        """The next block of indices.

        How far the answer before was computed past its end depends on K; what this one draws must not.
        """
        return -(-counter // BLOCK) * BLOCK

    def choose(self, logits: Tensor, context: Sequence[int], index: int) -> int:
        """The token at one index."""
        walk = self._walk(logits[None], context, [], index)
        require_ok(walk.status)
        return int(walk.token[0])

    def draft_chooser(self, context: Sequence[int], index: int, cut: Cut, vocab: int) -> DraftChooser | None:
        """The drafter's rows with the noise that the trunk's will get."""
        return _Noisy(self, list(context), index, cut)

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
        """The longest prefix of drafts that equals the trunk's noisy choices."""
        start, n, drafted = 0, len(drafts), None if isinstance(drafts, Tensor) else list(drafts)
        while True:  # a row of the vocabulary is shaped when the walk comes to it, except where one read is all
            end = n if read.once else start
            before = [] if drafted is None else drafted[:start]
            walk = self._walk(logits[start : end + 1], [*context, *before], drafts[start:end], index + start)
            unread = [] if drafted is not None else [ids_on(logits.device, drafts)]
            (found,), (chosen,), (status,), *known = read(walk.accepted, walk.token, walk.status, *unread)
            require_ok(status)
            drafted = as_drafts(known[0]) if known else drafted
            accepted, token = start + int(found), int(chosen)
            assert drafted is not None
            if accepted < end or end == n or token != drafted[end]:
                break
            start = end + 1
        outcome = outcome_of(drafted, accepted, token, stop_ids)
        return Decision(outcome, draws=len(outcome.tokens), drafted=tuple(drafted))

    def replay(self, logits: Tensor, context: Sequence[int], index: int) -> int | None:
        """As `choose`."""
        return self.choose(logits, context, index)

    def _walk(self, logits: Tensor, context: Ids, drafts: Drafts, index: int) -> Walk:
        """Accepted drafts, and the choice after them."""
        device = logits.device
        rows = scores(logits, self.params, context, drafts)[None]
        counter = torch.full((1,), index, dtype=torch.long, device=device)
        walk: Walk = pick("coupled_walk", device)(rows, ids_on(device, drafts)[None], self.seed, counter)
        return walk


class _Noisy:
    """Drafts chosen with the noise of the tokens they stand for. No probabilities: acceptance is equality."""

    def __init__(self, rule: CoupledRule, context: list[int], index: int, cut: Cut) -> None:
        self.probabilities: list[Tensor] = []
        self.statuses: list[Tensor] = []
        self._rule, self._context, self._index, self._cut = rule, context, index, cut
        self._ids: Tensor | None = None

    def __call__(self, logits: Tensor) -> int | None:
        if self._cut > 0:
            q = torch.softmax(scores(logits[None], self._rule.params, self._context), dim=-1)
            if float(q.amax()) < self._cut:
                return None
        token = self._rule.choose(logits, self._context, self._index)
        self._context.append(token)
        self._index += 1
        return token

    def on_device(self, logits: Tensor) -> Tensor:
        self._ids = ids_on(logits.device, self._context) if self._ids is None else self._ids
        walk = self._rule._walk(logits[None], self._ids, [], self._index)
        token = walk.token
        if self._cut > 0:
            q = torch.softmax(scores(logits[None], self._rule.params, self._ids), dim=-1)
            token = torch.where(q.amax(dim=-1) < self._cut, -1, token)
        self.statuses.append(walk.status)
        self._ids = torch.cat([self._ids, token])
        self._index += 1
        return token
