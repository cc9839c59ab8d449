"""Triton form of `kernels.rejection_walk`: one launch, one program a round.

The tests read two numbers a draft; only the row that is drawn from is read whole: once for its sums, once for the draw.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.triton.categorical import invert, weights
from kernels.triton.status import NOT_FINITE, OK, of_mass
from kernels.walk import Walk

_BLOCK = 4096


def fused(p: Tensor, drafts: Tensor, q: Tensor | None, u_accept: Tensor, u_draw: Tensor) -> Walk:
    """As `kernels.rejection_walk.reference`; a draft past the vocabulary counts as one of probability 0."""
    batch, count = drafts.shape
    vocab = p.shape[2]
    assert p.shape == (batch, count + 1, vocab) and p.stride(2) == 1
    assert q is None or (q.shape == (batch, count, vocab) and q.stride(2) == 1)
    assert u_accept.shape == (batch, count) and u_draw.shape == (batch,)
    accepted, token, tests = torch.empty(3, batch, dtype=torch.int64, device=p.device)
    status = torch.empty(batch, dtype=torch.int32, device=p.device)
    other = p if q is None or count == 0 else q  # without drafts there is no row of q to point at
    if batch:
        _walk[(batch,)](
            p,
            drafts.contiguous(),
            other,
            u_accept.contiguous(),
            u_draw.contiguous(),
            accepted,
            token,
            tests,
            status,
            count,
            *p.stride()[:2],
            *other.stride()[:2],
            vocab=vocab,
            has_q=other is not p,
            block=_BLOCK,
            num_warps=8,
        )
    return Walk(accepted, token, tests, status)


@triton.jit(do_not_specialize=["count"])
def _walk(
    p: tl.tensor,
    drafts: tl.tensor,
    q: tl.tensor,
    u_accept: tl.tensor,
    u_draw: tl.tensor,
    accepted_out: tl.tensor,
    token_out: tl.tensor,
    tests_out: tl.tensor,
    status_out: tl.tensor,
    count: tl.tensor,
    p_round: tl.tensor,
    p_row: tl.tensor,
    q_round: tl.tensor,
    q_row: tl.tensor,
    vocab: tl.constexpr,
    has_q: tl.constexpr,
    block: tl.constexpr,
) -> None:
    at_round = tl.program_id(0).to(tl.int64)
    p += at_round * p_round
    q += at_round * q_round
    drafts += at_round * count
    accepted, tests, failed, unreadable = _test(
        p, drafts, q, u_accept + at_round * count, vocab, count, p_row, q_row, has_q
    )

    p += accepted.to(tl.int64) * p_row
    q += tl.where(failed, accepted, 0).to(tl.int64) * q_row
    removed = tl.load(drafts + accepted, mask=failed & (not has_q), other=-1)
    p_sum, q_sum, residual_sum = _sums(p, q, removed, vocab, has_q, block)
    residual = failed & (residual_sum > 0)
    total = tl.where(residual, residual_sum, p_sum)
    status = of_mass(total)
    if has_q:
        status = tl.where(failed & (status == OK), of_mass(q_sum), status)
    status = tl.where(unreadable, NOT_FINITE, status)
    removed = tl.where(residual, removed, -1)
    q_end = tl.where(residual, vocab, 0)
    token = invert(p, q, removed, q_end, total, tl.load(u_draw + at_round), vocab, has_q, block)

    tl.store(accepted_out + at_round, accepted.to(tl.int64))
    tl.store(token_out + at_round, tl.where(status == OK, token, 0))
    tl.store(tests_out + at_round, tests.to(tl.int64))
    tl.store(status_out + at_round, status)


@triton.jit
def _test(
    p: tl.tensor,
    drafts: tl.tensor,
    q: tl.tensor,
    u_accept: tl.tensor,
    vocab: tl.constexpr,
    count: tl.tensor,
    p_row: tl.tensor,
    q_row: tl.tensor,
    has_q: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """Accepted drafts, tests made, whether the last test failed, and whether it read NaN or infinity."""
    accepted = count * 0
    tests = count * 0
    testing = count >= 0
    failed = count < 0
    unreadable = count < 0
    column = count * 0
    while column < count:
        x = tl.load(drafts + column)
        testing = testing & (x >= 0)
        inside = testing & (x < vocab)
        px = tl.load(p + column * p_row + x, mask=inside, other=0.0).to(tl.float32)
        qx = px * 0.0 + 1.0 if not has_q else tl.load(q + column * q_row + x, mask=inside, other=1.0).to(tl.float32)
        finite = (px - px == 0.0) & (qx - qx == 0.0)
        holds = finite & (tl.load(u_accept + column) * qx < px)
        tests += testing.to(tl.int32)
        accepted += (testing & holds).to(tl.int32)
        failed = failed | (testing & (holds == 0))
        unreadable = unreadable | (testing & (finite == 0))
        testing = testing & holds
        column += 1
    return accepted, tests, failed, unreadable


@triton.jit
def _sums(
    p: tl.tensor, q: tl.tensor, removed: tl.tensor, vocab: tl.constexpr, has_q: tl.constexpr, block: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """Sums in fp64 of the row of p, of the row of q, and of their residual."""
    at = tl.arange(0, block)
    p_sums = tl.zeros((block,), dtype=tl.float64)
    q_sums = tl.zeros((block,), dtype=tl.float64)
    residual_sums = tl.zeros((block,), dtype=tl.float64)
    for start in range(0, vocab, block):
        p_sums += weights(p, q, -1, 0, start + at, vocab, False).to(tl.float64)
        if has_q:
            q_sums += weights(q, q, -1, 0, start + at, vocab, False).to(tl.float64)
        residual_sums += weights(p, q, removed, vocab, start + at, vocab, has_q).to(tl.float64)
    return tl.sum(p_sums, axis=0), tl.sum(q_sums, axis=0), tl.sum(residual_sums, axis=0)
