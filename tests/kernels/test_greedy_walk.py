"""The greedy walk against a loop: ties, shapes, rounds with fewer drafts, rows that cannot be used."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from kernels.greedy_walk import reference
from kernels.status import Status
from tests.kernels.forms import FORMS, assert_same, load


def _loop(logits: Tensor, drafts: Tensor) -> list[tuple[int, int, int]]:
    """(accepted, token, tests) of each round, finite rows only."""
    walks = []
    for rows, row_drafts in zip(logits.tolist(), drafts.tolist(), strict=True):
        choices = [row.index(max(row)) for row in rows]
        accepted = tests = 0
        for draft, choice in zip(row_drafts, choices[:-1], strict=True):
            if draft < 0:
                break
            tests += 1
            if draft != choice:
                break
            accepted += 1
        walks.append((accepted, choices[accepted], tests))
    return walks


def _rounds(batch: int, count: int, vocab: int, dtype: torch.dtype, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Coarse logits, so that ties abound; drafts that often hold, and sometimes end early."""
    generator = torch.Generator().manual_seed(seed + vocab)
    logits = torch.randint(-3, 4, (batch, count + 1, vocab), generator=generator).to(dtype)
    logits[:, :, ::5] = -math.inf
    logits[:, :, -1] = 0.0
    drafts = logits.float().max(-1).indices[:, :count]
    wrong = torch.rand(batch, count, generator=generator) < 0.2
    drafts = torch.where(wrong, torch.randint(0, vocab, (batch, count), generator=generator), drafts)
    drafts[::5, count // 2 :] = -1
    return logits, drafts


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("batch", "count", "vocab"), [(40, 3, 7), (1, 0, 5), (6, 1, 1), (3, 7, 2048), (3, 2, 6001)])
def test_equals_a_loop(form, dtype, batch, count, vocab):
    logits, drafts = _rounds(batch, count, vocab, dtype)
    walk = load("greedy_walk", form)(logits, drafts)
    found = list(zip(walk.accepted.tolist(), walk.token.tolist(), walk.tests.tolist(), strict=True))
    assert found == _loop(logits, drafts) and not walk.status.any()


def test_the_loop_tells_a_tie_broken_upwards():
    """Teeth: the highest id in place of the lowest."""
    logits, drafts = _rounds(40, 3, 7, torch.float32)
    flipped = reference(logits.flip(-1), torch.where(drafts < 0, -1, 6 - drafts))
    assert (6 - flipped.token).tolist() != [token for _, token, _ in _loop(logits, drafts)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("vocab", [9, 4100])
def test_an_unusable_row_is_named_only_where_it_is_read(form, bad, vocab):
    logits = torch.zeros(4, 4, vocab)
    logits[:, :, 3] = 1.0
    drafts = torch.full((4, 3), 3)
    drafts[3, 1] = 5  # round 3 ends before its bad row
    for round_, row in enumerate((0, 1, 3, 2)):
        logits[round_, row, vocab - 2 if math.isnan(bad) or bad > 0 else slice(None)] = bad
    walk = load("greedy_walk", form)(logits, drafts)
    name = Status.NO_MASS if bad == -math.inf else Status.NOT_FINITE
    assert walk.status.tolist() == [name, name, name, Status.OK]
    assert walk.accepted.tolist() == [0, 1, 3, 1]
    assert walk.tests.tolist() == [1, 2, 3, 2]
    assert walk.token.tolist() == [0, 0, 0, 3]


@pytest.mark.parametrize("form", FORMS)
def test_a_draft_outside_the_vocabulary_just_fails(form):
    logits = torch.zeros(1, 2, 5)
    walk = load("greedy_walk", form)(logits, torch.tensor([[10**9]]))
    assert (walk.accepted.item(), walk.token.item(), walk.tests.item(), walk.status.item()) == (0, 0, 1, Status.OK)


def test_fused_reads_a_slice_in_place():
    logits, drafts = _rounds(4, 3, 40, torch.float32)
    wide = torch.randn(6, 5, 40)
    wide[1:5, 1:] = logits
    assert_same(load("greedy_walk", "fused")(wide[1:5, 1:], drafts), reference(logits, drafts))
