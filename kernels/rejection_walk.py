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
        `Walk`. A test reads two numbers, the draw the whole row of p and, after a failed test, of q. NaN, infinity or
        a row without mass among what was read ends the walk and is named.
    """
    batch, count = drafts.shape
    assert p.shape[:2] == (batch, count + 1) and (q is None or q.shape == (batch, count, p.shape[2]))
    if count == 0:
        zero = drafts.new_zeros(batch)
        token, status = categorical.reference(p[:, 0], u_draw)
        return Walk(zero, token, zero, status)

    x = drafts.clamp_min(0)
    px = _at(p[:, :count], x)
    qx = torch.ones_like(px) if q is None else _at(q, x)
    readable = px.isfinite() & qx.isfinite()
    accept = (u_accept * qx < px) & readable & (drafts >= 0)
    accepted = accept.long().cumprod(-1).sum(-1)
    limit = draft_count(drafts)

    failed, column = accepted < limit, accepted.clamp_max(count - 1)
    rows = torch.arange(batch, device=p.device)
    p_row = p[rows, accepted]
    residual, q_status = _residual(p_row, q, x, rows, column)
    use = failed & (residual.sum(-1) > 0)
    token, status = categorical.reference(torch.where(use[:, None], residual, p_row), u_draw)
    status = torch.where(failed & (status == Status.OK), q_status, status)
    status = torch.where(failed & ~readable[rows, column], int(Status.NOT_FINITE), status)
    tests = torch.minimum(accepted + 1, limit)
    return Walk(accepted, torch.where(status == Status.OK, token, 0), tests, status)


def _at(probs: Tensor, ids: Tensor) -> Tensor:
    """Probability of one id per row: [B, n, V] at [B, n] -> [B, n]."""
    return probs.gather(2, ids[..., None])[..., 0]


def _residual(p_row: Tensor, q: Tensor | None, x: Tensor, rows: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
    """max(0, p - q) of the given column of each round, unnormalised [B, V], and the status of that row of q [B]."""
    if q is None:
        fine = torch.zeros(len(rows), dtype=torch.int32, device=p_row.device)
        return p_row.scatter(1, x[rows, column][:, None], 0.0), fine
    q_row = q[rows, column]
    return (p_row - q_row).clamp_min_(0.0), of_mass(q_row.sum(-1))
