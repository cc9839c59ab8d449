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

from engine.accept import Outcome, outcome_of
from engine.events import Mode
from engine.rules.protocol import Cut, Decision, DeviceChooser, DraftChooser, Drafts
from engine.rules.read import DIRECT, Read
from engine.rules.sampled import SampledRule
from engine.rules.shape import as_drafts, require_ok, scores
from engine.upload import ids_on
from kernels.dispatch import pick
from kernels.philox import Role
from kernels.walk import draft_count


@dataclass(frozen=True)
class RejectionRule(SampledRule):
    """Exact in distribution. The stream depends on drafter and K, not on how it is cut into bursts."""

    mode: Mode = "rejection"

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
        drafts: Drafts,
        chooser: DraftChooser | None,
        index: int,
        tests: int,
        stop_ids: Collection[int],
        read: Read = DIRECT,
    ) -> Decision:
        """Test the drafts in order, then draw one token more."""
        n, device = len(drafts), logits.device
        q = torch.stack(chooser.probabilities)[None] if chooser is not None and chooser.probabilities else None
        u = self._uniforms(Role.ACCEPT, tests, n, device)
        if read.once:
            return self._accept_once(logits, context, drafts, chooser, q, index, u, stop_ids, read)
        assert not isinstance(drafts, Tensor)
        drawn = 0 if q is None else n
        last = self._uniforms(Role.TARGET_DRAW, index + drawn, 1, device)
        ids = torch.tensor([drafts], dtype=torch.long, device=device)
        p_of: list[float] = []
        for start, end in _pieces(n):
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
        q_of = None if q is None else q[0, range(n), ids[0]].tolist()
        return _decide(outcome_of(drafts, accepted, token, stop_ids), drafts, p_of, q_of, u.tolist())

    def _accept_once(
        self,
        logits: Tensor,
        context: Sequence[int],
        drafts: Drafts,
        chooser: DraftChooser | None,
        q: Tensor | None,
        index: int,
        u: Tensor,
        stop_ids: Collection[int],
        read: Read,
    ) -> Decision:
        """As `accept`, for all drafts together, and read at the end."""
        device = logits.device
        ids = ids_on(device, drafts)[None]
        last = self._uniforms(Role.TARGET_DRAW, index if q is None else index + draft_count(ids), 1, device)
        p = torch.softmax(scores(logits, self.params, context, ids[0]), -1)[None]
        walk = pick("rejection_walk", device)(p, ids, q, u[None], last)
        at = ids.clamp_min(0)[..., None]
        seen = [p[:, :-1].gather(2, at), u, ids] + ([] if q is None else [q.gather(2, at)])
        statuses = chooser.statuses if isinstance(chooser, DeviceChooser) else []
        (accepted,), (token,), (status,), p_of, u_of, known, *rest = read(
            walk.accepted, walk.token, walk.status, *seen, *statuses
        )
        q_of = rest.pop(0) if q is not None else None
        for (code,) in (*rest, [status]):
            require_ok(code)
        drafted = as_drafts(known)
        outcome = outcome_of(drafted, int(accepted), int(token), stop_ids)
        return _decide(outcome, drafted, p_of, q_of, u_of)

    def replay(self, logits: Tensor, context: Sequence[int], index: int) -> int | None:
        """Plain decoding would draw otherwise: only the distribution is the same."""
        return None

    def _uniforms(self, role: Role, first: int | Tensor, count: int, device: torch.device) -> Tensor:
        """[count] values first, first + 1, ... of a role's stream; `first` may be one number on the device."""
        counters = torch.arange(count, device=device) + first
        uniforms: Tensor = pick("philox", device)(self.seed, role, counters, 1)
        return uniforms[:, 0]


def _decide(
    outcome: Outcome, drafted: Sequence[int], p_of: list[float], q_of: list[float] | None, u_of: list[float]
) -> Decision:
    """The decision, with the numbers of the tests that were made and the counters that were used."""
    n = len(drafted)
    made = outcome.accepted + (outcome.bonus is not None and outcome.accepted < n)
    draws = (0 if q_of is None else n) + (outcome.bonus is not None)
    tested_q = [1.0] * made if q_of is None else q_of[:made]
    return Decision(outcome, draws, tuple(p_of[:made]), tuple(tested_q), tuple(u_of[:made]), tuple(drafted))


def _pieces(drafts: int) -> list[tuple[int, int]]:
    """Ranges of drafts to test at a time: the first alone, because most rounds end there or soon after.

    Shaping a row of the vocabulary costs as much as the test of all drafts.
    """
    return [(0, drafts)] if drafts <= 1 else [(0, 1), (1, drafts)]


class _Drawn:
    """Drafts drawn from the drafter's shaped distribution; remembers q of each."""

    def __init__(self, rule: RejectionRule, context: list[int], index: int, cut: Cut, vocab: int) -> None:
        self.probabilities: list[Tensor] = []
        self.statuses: list[Tensor] = []
        self._rule, self._context, self._index, self._cut, self._vocab = rule, context, index, cut, vocab
        self._ids: Tensor | None = None

    def __call__(self, logits: Tensor) -> int | None:
        q = torch.softmax(scores(logits[None], self._rule.params, self._context), dim=-1)
        if self._cut > 0 and float(q.amax()) < self._cut:
            return None  # decided on the row: a cut on the token drawn would remove rare tokens and bias what is left
        token, status = self._draw(q)
        require_ok(status)
        self._context.append(int(token[0]))
        return int(token[0])

    def on_device(self, logits: Tensor) -> Tensor:
        self._ids = ids_on(logits.device, self._context) if self._ids is None else self._ids
        q = torch.softmax(scores(logits[None], self._rule.params, self._ids), dim=-1)
        token, status = self._draw(q)
        self.statuses.append(status)
        if self._cut > 0:  # what is drawn from here on is never looked at, so its values count as unused
            token = torch.where(q.amax(dim=-1) < self._cut, -1, token)
        self._ids = torch.cat([self._ids, token])
        return token

    def _draw(self, q: Tensor) -> tuple[Tensor, Tensor]:
        """Token and status [1] from q [1, v], which is kept."""
        u = self._rule._uniforms(Role.DRAFT_DRAW, self._index + len(self.probabilities), 1, q.device)
        drawn: tuple[Tensor, Tensor] = pick("categorical", q.device)(q, u)
        self.probabilities.append(torch.nn.functional.pad(q[0], (0, self._vocab - q.shape[-1])))
        return drawn
