"""Speculative sampling: accept each draft with probability min(1, p / q), replace the first that fails.

For drafts x_i drawn from q_i, uniforms u_i and the trunk's distributions p_0 .. p_n:

    accept x_i  iff  u_i * q_i(x_i) < p_i(x_i)                    no division, so q = 0 needs no case of its own
    first i that fails:  draw from max(0, p_i - q_i), normalised; if that has no mass, from p_i
    none fails:          draw from p_n

(Leviathan, Kalman and Matias 2023, section 2.3; Chen et al. 2023, algorithm 2.) What is emitted is then distributed as
p, whatever q is, provided that q_i is the very distribution x_i was drawn from. A draft that was not drawn is a point
mass: q(x) = 1, and its residual is p without x.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import categorical
from kernels.status import Status, of_mass
from kernels.walk import Walk, draft_count


def reference(p: Tensor, drafts: Tensor, q: Tensor | None, u_accept: Tensor, u_draw: Tensor) -> Walk:
    """Walk B rounds.

    Args:
        p: [B, R, V] fp32 probabilities, R = n + 1; may be expanded over B. drafts: [B, n] int64, negative: none from
            there on. q: [B, n, V] probabilities, or None for point masses. u_accept: [B, n] in [0, 1), one per test.
        u_draw: [B] in [0, 1), one per draw.

    Returns:
        `Walk`. A row of p, or of q up to the failing draft, with NaN, infinity or no mass ends the walk and is named.
    """
    batch, count = drafts.shape
    assert p.shape[:2] == (batch, count + 1) and (q is None or q.shape == (batch, count, p.shape[2]))
    if count == 0:
        zero = drafts.new_zeros(batch)
        token, status = categorical.reference(p[:, 0], u_draw)
        return Walk(zero, token, zero, status)

    x = drafts.clamp_min(0)
    row_status = of_mass(p[:, :count].sum(-1))
    px, qx = _at(p[:, :count], x), 1.0
    if q is not None:
        qx = _at(q, x)
        row_status = torch.where(row_status == Status.OK, of_mass(q.sum(-1)), row_status)
    accept = (u_accept * qx < px) & (row_status == Status.OK) & (drafts >= 0)
    accepted = accept.long().cumprod(-1).sum(-1)
    limit = draft_count(drafts)

    failed, column = accepted < limit, accepted.clamp_max(count - 1)
    rows = torch.arange(batch, device=p.device)
    token, status = categorical.reference(_weights(p[rows, accepted], q, x, column, failed), u_draw)
    # An unusable row of p is named by the draw; one of q, or a p that the test met first, by its test.
    status = torch.where(failed & (row_status[rows, column] != Status.OK), row_status[rows, column], status)
    tests = torch.minimum(accepted + 1, limit)
    return Walk(accepted, torch.where(status == Status.OK, token, 0), tests, status)


def _at(probs: Tensor, ids: Tensor) -> Tensor:
    """Probability of one id per row: [B, n, V] at [B, n] -> [B, n]."""
    return probs.gather(2, ids[..., None])[..., 0]


def _weights(p_row: Tensor, q: Tensor | None, x: Tensor, column: Tensor, failed: Tensor) -> Tensor:
    """What to draw from, unnormalised, [B, V]: the residual of the failing column, else p_row as it is."""
    if q is None:
        residual = p_row.scatter(1, x.gather(1, column[:, None]), 0.0)
    else:
        residual = (p_row - q[torch.arange(q.shape[0], device=q.device), column]).clamp_min_(0.0)
    use = failed & (residual.sum(-1) > 0)
    return torch.where(use[:, None], residual, p_row)
