"""Speculative sampling by rejection (Leviathan et al. 2023, algorithm 1; Chen et al. 2023, algorithm 2).

    accept draft x of column j if u * q_j(x) < p_j(x)
    at the first rejection draw from max(0, p_j - q_j), normalised; where that has no mass, from p_j
    after the last draft draw from p_n

So every token is distributed as plain sampling from p, whatever the drafter. p and q are shaped by the same settings. A
drafter without probabilities is a point mass: q(x) = 1, and the residual is p without x.

Counters: draft i is drawn with `sctr + i`, the round's last token with the next value, test i uses `uctr + i`.
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
from kernels.philox import Role


@dataclass(frozen=True)
class RejectionRule:
    """Exact in distribution. The stream depends on drafter and K, not on how it is cut into bursts."""

    params: SamplingParams
    seed: int
    mode: Mode = "rejection"
    draws: bool = True

    @property
    def needs_context(self) -> bool:
        """Only penalties read it."""
        return self.params.penalised

    def start(self, counter: int) -> int:
        """Where it stands."""
        return counter

    def choose(self, logits: Tensor, context: Sequence[int], index: int) -> int:
        """One draw from the row's distribution."""
        p = torch.softmax(scores(logits[None], self.params, context), dim=-1)
        token, status = pick("categorical", logits.device)(p, self._uniforms(Role.TARGET_DRAW, index, 1, logits.device))
        require_ok(status)
        return int(token[0])

    def draft_chooser(self, context: Sequence[int], index: int, cut: Cut, vocab: int) -> DraftChooser | None:
        """Draws each draft from the drafter's own distribution under the same settings."""
        return _Drawn(self, list(context), index, cut, vocab)

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
        """Test the drafts in order, then draw one token more."""
        n, device = len(drafts), logits.device
        q = torch.stack(chooser.probabilities)[None] if chooser is not None and chooser.probabilities else None
        drawn = 0 if q is None else n
        u = self._uniforms(Role.ACCEPT, tests, n, device)
        last = self._uniforms(Role.TARGET_DRAW, index + drawn, 1, device)
        ids = torch.tensor([drafts], dtype=torch.long, device=device)
        p_of: list[float] = []
        for start, end in _pieces(n, device):
            p = torch.softmax(
                scores(logits[start : end + 1], self.params, [*context, *drafts[:start]], drafts[start:end]), -1
            )
            part = None if q is None else q[:, start:end]
            walk = pick("rejection_walk", device)(p[None], ids[:, start:end], part, u[None, start:end], last)
            require_ok(walk.status)
            accepted, token = start + int(walk.accepted[0]), int(walk.token[0])
            p_of += p[range(end - start), ids[0, start:end]].tolist()
            if accepted < end:
                break
        outcome = outcome_of(drafts, accepted, token, stop_ids)
        made = outcome.accepted + (outcome.bonus is not None and outcome.accepted < n)
        q_of = [1.0] * made if q is None else [float(q[0, i, drafts[i]]) for i in range(made)]
        draws = drawn + (outcome.bonus is not None)
        return Decision(outcome, draws, tuple(p_of[:made]), tuple(q_of), tuple(u[:made].tolist()))

    def scores(self, logits: Tensor, context: Sequence[int], drafts: Sequence[int]) -> Tensor:
        """Penalised, over the temperature, filtered."""
        return scores(logits, self.params, context, drafts)

    def replay(self, logits: Tensor, context: Sequence[int], index: int) -> int | None:
        """Plain decoding would draw otherwise: only the distribution is the same."""
        return None

    def describe(self) -> tuple[int | None, tuple[tuple[str, float], ...]]:
        """Seed and settings."""
        return self.seed, self.params.as_settings()

    def _uniforms(self, role: Role, first: int, count: int, device: torch.device) -> Tensor:
        """[count] values first, first + 1, ... of a role's stream."""
        counters = torch.arange(first, first + count, device=device)
        uniforms: Tensor = pick("philox", device)(self.seed, role, counters, 1)
        return uniforms[:, 0]


def _pieces(drafts: int, device: torch.device) -> list[tuple[int, int]]:
    """Ranges of drafts to test at a time.

    On a GPU all at once: one launch, one read. On the CPU the first alone, because most rounds end there or soon after,
    and shaping a row of the vocabulary costs as much as the test of all drafts.
    """
    if device.type == "cuda" or drafts <= 1:
        return [(0, drafts)]
    return [(0, 1), (1, drafts)]


class _Drawn:
    """Drafts drawn from the drafter's shaped distribution; remembers q of each."""

    def __init__(self, rule: RejectionRule, context: list[int], index: int, cut: Cut, vocab: int) -> None:
        self.probabilities: list[Tensor] = []
        self._rule, self._context, self._index, self._cut, self._vocab = rule, context, index, cut, vocab

    def __call__(self, logits: Tensor) -> int | None:
        q = torch.softmax(scores(logits[None], self._rule.params, self._context), dim=-1)
        if self._cut > 0 and float(q.amax()) < self._cut:
            return None  # decided on the row: a cut on the token drawn would remove rare tokens and bias what is left
        at = self._index + len(self.probabilities)
        u = self._rule._uniforms(Role.DRAFT_DRAW, at, 1, logits.device)
        token, status = pick("categorical", logits.device)(q, u)
        require_ok(status)
        self.probabilities.append(torch.nn.functional.pad(q[0], (0, self._vocab - q.shape[-1])))
        self._context.append(int(token[0]))
        return int(token[0])
