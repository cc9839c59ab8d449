"""What the greedy and the coupled walk share: the best token of every row, and the drafts up to the first that differs.

One launch. Each program takes a stretch of one row, so that the rows are read by many multiprocessors at once, and
writes down its largest score; the program that finishes last, by a counter, compares the stretches and walks.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.philox import Role
from kernels.triton.gumbel import standard
from kernels.triton.status import OK, of_peak
from kernels.walk import Walk

_BLOCK = 2048
_GUMBEL = tl.constexpr(int(Role.GUMBEL))


def walk(scores: Tensor, drafts: Tensor, seed: Tensor | None, counters: Tensor | None) -> Walk:
    """Walk B rounds over [B, R, V] scores, with the noise of (seed, counters + row) added where a seed is given."""
    batch, count = drafts.shape
    vocab = scores.shape[2]
    assert scores.shape == (batch, count + 1, vocab) and scores.stride(2) == 1
    accepted, token, tests = torch.empty(3, batch, dtype=torch.int64, device=scores.device)
    status = torch.empty(batch, dtype=torch.int32, device=scores.device)
    parts = triton.cdiv(vocab, _BLOCK)
    tops = torch.empty(batch, count + 1, parts, dtype=torch.float32, device=scores.device)
    choices = torch.empty(batch, count + 1, parts, dtype=torch.int32, device=scores.device)
    finished = torch.zeros(batch, dtype=torch.int32, device=scores.device)
    if batch:
        _walk[(batch, count + 1, parts)](
            scores,
            drafts.contiguous(),
            finished if seed is None else seed,
            finished if counters is None else counters.contiguous(),
            tops,
            choices,
            finished,
            accepted,
            token,
            tests,
            status,
            count,
            parts,
            *scores.stride()[:2],
            vocab=vocab,
            noisy=seed is not None,
            block=_BLOCK,
            parts_block=triton.next_power_of_2(parts),
            num_warps=4,
        )
    return Walk(accepted, token, tests, status)


@triton.jit(do_not_specialize=["count"])
def _walk(
    scores: tl.tensor,
    drafts: tl.tensor,
    seed: tl.tensor,
    counters: tl.tensor,
    tops: tl.tensor,
    choices: tl.tensor,
    finished: tl.tensor,
    accepted_out: tl.tensor,
    token_out: tl.tensor,
    tests_out: tl.tensor,
    status_out: tl.tensor,
    count: tl.tensor,
    parts: tl.tensor,
    score_round: tl.tensor,
    score_row: tl.tensor,
    vocab: tl.constexpr,
    noisy: tl.constexpr,
    block: tl.constexpr,
    parts_block: tl.constexpr,
) -> None:
    at_round = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1)
    first = tl.program_id(2) * block
    at = first + tl.arange(0, block)
    source = scores + at_round * score_round + row.to(tl.int64) * score_row
    score = tl.load(source + at, mask=at < vocab, other=float("-inf")).to(tl.float32)
    if noisy:
        score += standard(tl.load(seed), _GUMBEL, tl.load(counters + at_round) + row, first, block)
    score = tl.where(score == score, score, float("inf"))  # a maximum may lose a NaN, never an infinity
    top = tl.max(score, axis=0)
    choice = tl.min(tl.where(score == top, at, vocab), axis=0)
    rows = at_round * (count + 1)
    tl.store(tops + (rows + row) * parts + tl.program_id(2), top)
    tl.store(choices + (rows + row) * parts + tl.program_id(2), choice)
    tl.debug_barrier()

    if tl.atomic_add(finished + at_round, 1, sem="acq_rel") == (count + 1) * parts - 1:
        _finish(
            drafts + at_round * count,
            tops + rows * parts,
            choices + rows * parts,
            accepted_out + at_round,
            token_out + at_round,
            tests_out + at_round,
            status_out + at_round,
            count,
            parts,
            vocab,
            parts_block,
        )


@triton.jit
def _finish(
    drafts: tl.tensor,
    tops: tl.tensor,
    choices: tl.tensor,
    accepted_out: tl.tensor,
    token_out: tl.tensor,
    tests_out: tl.tensor,
    status_out: tl.tensor,
    count: tl.tensor,
    parts: tl.tensor,
    vocab: tl.constexpr,
    parts_block: tl.constexpr,
) -> None:
    """Walk one round over the stretches' results; they were written by other programs, so no cache near us is asked."""
    at = tl.arange(0, parts_block)
    accepted = count * 0
    tests = count * 0
    token = count * 0
    status = count * 0
    walking = count >= 0
    row = count * 0
    while walking:
        stretch = row * parts + at
        top_of = tl.load(tops + stretch, mask=at < parts, other=float("-inf"), cache_modifier=".cg")
        choice_of = tl.load(choices + stretch, mask=at < parts, other=0, cache_modifier=".cg")
        top = tl.max(top_of, axis=0)
        choice = tl.min(tl.where((top_of == top) & (at < parts), choice_of, vocab), axis=0)
        status = of_peak(top)
        token = tl.where(status == OK, choice, 0)
        draft = tl.load(drafts + row, mask=row < count, other=-1)
        tests += (draft >= 0).to(tl.int32)
        walking = (draft == choice) & (status == OK)
        accepted += walking.to(tl.int32)
        row += 1
    tl.store(accepted_out, accepted.to(tl.int64))
    tl.store(token_out, token.to(tl.int64))
    tl.store(tests_out, tests.to(tl.int64))
    tl.store(status_out, status)
