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
from engine.rules.protocol import Cut, Decision, DraftChooser
from engine.rules.shape import require_ok, scores
from engine.sampling import SamplingParams
from kernels.dispatch import pick

BLOCK = 2**20
"""Every answer begins at a multiple of this, which no context is longer than."""


@dataclass(frozen=True)
class CoupledRule:
    """Exact in stream: with one seed, the tokens of plain sampling."""

    params: SamplingParams
    seed: int
    mode: Mode = "coupled"
    draws: bool = True

    @property
    def needs_context(self) -> bool:
        """Only penalties read it."""
        return self.params.penalised

    def start(self, counter: int) -> int:
        """The next block of indices.

        How far the answer before was computed past its end depends on K; what this one draws must not.
        """
        return -(-counter // BLOCK) * BLOCK

    def choose(self, logits: Tensor, context: Sequence[int], index: int) -> int:
        """The token at one index."""
        return self._walk(logits[None], context, [], index)[1]

    def draft_chooser(self, context: Sequence[int], index: int, cut: Cut, vocab: int) -> DraftChooser | None:
        """The drafter's rows with the noise that the trunk's will get."""
        return _Noisy(self, list(context), index, cut)

    def accept(
        self,
        logits: Tensor,
        context: Sequence[int],
        drafts: Sequence[int],
        chooser: DraftChooser | None,
        index: int,
        tests: int,
        stop_ids: Collection[int],
    ) -> Decision:
        """The longest prefix of drafts that equals the trunk's noisy choices."""
        start, n = 0, len(drafts)
        while True:  # a row of the vocabulary is shaped when the walk comes to it, except on a GPU
            end = n if logits.device.type == "cuda" else start
            accepted, token = self._walk(
                logits[start : end + 1], [*context, *drafts[:start]], drafts[start:end], index + start
            )
            accepted += start
            if accepted < end or end == n or token != drafts[end]:
                break
            start = end + 1
        outcome = outcome_of(drafts, accepted, token, stop_ids)
        return Decision(outcome, draws=len(outcome.tokens))

    def scores(self, logits: Tensor, context: Sequence[int], drafts: Sequence[int]) -> Tensor:
        """Penalised, over the temperature, filtered."""
        return scores(logits, self.params, context, drafts)

    def replay(self, logits: Tensor, context: Sequence[int], index: int) -> int | None:
        """As `choose`."""
        return self.choose(logits, context, index)

    def describe(self) -> tuple[int | None, tuple[tuple[str, float], ...]]:
        """Seed and settings."""
        return self.seed, self.params.as_settings()

    def _walk(self, logits: Tensor, context: Sequence[int], drafts: Sequence[int], index: int) -> tuple[int, int]:
        """Accepted drafts, and the choice after them."""
        device = logits.device
        rows = scores(logits, self.params, context, drafts)[None]
        ids = torch.tensor([drafts], dtype=torch.long, device=device)
        walk = pick("coupled_walk", device)(rows, ids, self.seed, torch.tensor([index], device=device))
        require_ok(walk.status)
        return int(walk.accepted[0]), int(walk.token[0])


class _Noisy:
    """Drafts chosen with the noise of the tokens they stand for. No probabilities: acceptance is equality."""

    def __init__(self, rule: CoupledRule, context: list[int], index: int, cut: Cut) -> None:
        self.probabilities: list[Tensor] = []
        self._rule, self._context, self._index, self._cut = rule, context, index, cut

    def __call__(self, logits: Tensor) -> int | None:
        if self._cut > 0:
            q = torch.softmax(scores(logits[None], self._rule.params, self._context), dim=-1)
            if float(q.amax()) < self._cut:
                return None
        token = self._rule.choose(logits, self._context, self._index)
        self._context.append(token)
        self._index += 1
        return token
