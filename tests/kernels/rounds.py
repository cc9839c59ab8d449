"""Many independent rounds of the rejection walk, and what their results must be distributed like.

Rows are independent of the drafts before them here, so that every distribution has a closed form:

    emitted at column j, given that it is reached       p_j
    a draft at column j is accepted with probability    sum_v min(p_j, q_j)
    correction at column j                              max(0, p_j - q_j), normalised
    bonus after n accepted drafts                       p_n
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels import categorical, philox, rejection_walk
from kernels.philox import Role
from kernels.walk import Walk
from tests.kernels.chi_square import fit, p_value

ROUNDS = 30_000
WalkForm = Callable[[Tensor, Tensor, Tensor | None, Tensor, Tensor], Walk]


def uniforms(seed: int, role: Role, rounds: int, each: int) -> Tensor:
    """[rounds, each]: one event per number, as the engine counts them."""
    return philox.reference(seed, role, torch.arange(rounds * each), 1).view(rounds, each)


def draw_drafts(q: Tensor, seed: int, rounds: int = ROUNDS) -> Tensor:
    """[rounds, n] drafts from the rows of q [n, V]."""
    u = uniforms(seed, Role.DRAFT_DRAW, rounds, len(q))
    columns = [categorical.reference(row.expand(rounds, -1), u[:, i])[0] for i, row in enumerate(q)]
    return torch.stack(columns, 1)


def walk_all(p: Tensor, q: Tensor | None, drafts: Tensor, seed: int, walk: WalkForm = rejection_walk.reference) -> Walk:
    """Walk every round with its own uniforms; p [R, V] and q [n, V] are shared, or given per round."""
    rounds, count = drafts.shape
    p = p.expand(rounds, *p.shape) if p.ndim == 2 else p
    q = q.expand(rounds, *q.shape) if q is not None and q.ndim == 2 else q
    u_accept = uniforms(seed, Role.ACCEPT, rounds, count)
    return walk(p, drafts, q, u_accept, uniforms(seed, Role.TARGET_DRAW, rounds, 1)[:, 0])


def emitted(walk: Walk, drafts: Tensor, column: int) -> Tensor:
    """Tokens emitted at a column, of the rounds that reach it."""
    reached = walk.accepted >= column
    token = walk.token[reached]
    if column == drafts.shape[1]:
        return token
    return torch.where(walk.accepted[reached] > column, drafts[reached, column], token)


def verdicts(walk: Walk, drafts: Tensor, p: Tensor, q: Tensor) -> dict[str, float]:
    """p-values by what was tested. p [R, V]; q [n, V], one-hot where the draft was a point mass."""
    count = len(q)
    found = {f"token {j}": fit(emitted(walk, drafts, j), p[j]) for j in range(count + 1)}
    kept = torch.minimum(p[:count], q).double().sum(-1).clamp_max(1)
    reach = torch.cat([torch.ones(1), kept.cumprod(0)])
    lengths = reach * torch.cat([1 - kept, torch.ones(1)])
    found["accepted"] = p_value(torch.bincount(walk.accepted, minlength=count + 1), lengths)
    for j in range(count):
        residual = (p[j].double() - q[j].double()).clamp_min(0)
        if float(kept[j]) < 1 - 1e-6:
            found[f"correction {j}"] = fit(walk.token[walk.accepted == j], residual)
    return found


def by_hand(
    p: Tensor, drafts: Tensor, q: Tensor | None, u_accept: Tensor, u_draw: Tensor, fault: str | None = None
) -> Walk:
    """The walk written once more without its checks, so that one part of it can be broken."""
    rounds, count = drafts.shape
    rows = torch.arange(rounds)
    other = F.one_hot(drafts, p.shape[2]).float() if q is None else q
    chosen = drafts[..., None]
    accept = u_accept * other.gather(2, chosen)[..., 0] < p[:, :count].gather(2, chosen)[..., 0]
    if fault == "accept test inverted":
        accept = ~accept
    accepted = accept.long().cumprod(1).sum(1)
    weights = p[rows, accepted]
    if fault != "residual replaced by p":
        residual = (weights - other[rows, accepted.clamp_max(count - 1)]).clamp_min(0)
        failed = (accepted < count) & (residual.sum(1) > 0)
        weights = torch.where(failed[:, None], residual, weights)
    token, status = categorical.reference(weights, u_draw)
    if fault == "argmax instead of a draw":
        token = weights.argmax(1)
    return Walk(accepted, token, (accepted + 1).clamp_max(count), status)
