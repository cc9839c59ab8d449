"""The coupled walk is plain sampling with shared noise: against a loop, and as a stream of tokens for any drafts."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from kernels import coupled_walk, gumbel
from kernels.philox import Role
from kernels.status import Status
from tests.kernels.forms import FORMS, assert_same, load

SEED = 0xC0FFEE_0000_0001


def _plain(scores: Tensor, counter: int) -> int:
    noise = gumbel.reference(SEED, Role.GUMBEL, torch.tensor([counter]), len(scores))[0]
    return int((scores.float() + noise).argmax())


def _rounds(batch: int, count: int, vocab: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(vocab)
    scores = torch.randn(batch, count + 1, vocab, generator=generator).mul(2).to(dtype)
    scores[:, :, 1::4] = -math.inf
    scores[::6, :, 1:] = -math.inf
    counters = torch.randint(0, 2**40, (batch,), generator=generator)
    drafts = torch.randint(0, vocab, (batch, count), generator=generator)
    for b in range(batch):
        for j in range(count if b % 3 else count // 2):  # these hold
            drafts[b, j] = _plain(scores[b, j], int(counters[b]) + j)
    drafts[4::5, count // 2 :] = -1
    return scores, drafts, counters


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize(("batch", "count", "vocab"), [(20, 3, 9), (3, 0, 5), (4, 1, 1), (2, 7, 64), (3, 2, 4099)])
def test_equals_a_loop(form, dtype, batch, count, vocab):
    scores, drafts, counters = _rounds(batch, count, vocab, dtype)
    walk = load("coupled_walk", form)(scores, drafts, SEED, counters)
    for b in range(batch):
        choices = [_plain(scores[b, j], int(counters[b]) + j) for j in range(count + 1)]
        right = [draft == choice for draft, choice in zip(drafts[b].tolist(), choices[:-1], strict=True)]
        accepted = [*right, False].index(False)
        drafted = [*(drafts[b] >= 0).tolist(), False].index(False)
        assert int(walk.accepted[b]) == accepted and int(walk.token[b]) == choices[accepted]
        assert int(walk.tests[b]) == min(accepted + 1, drafted)
    assert not walk.status.any()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_an_unusable_row_is_named_only_where_it_is_read(form, bad):
    scores = torch.full((3, 3, 8), -math.inf)
    scores[:, :, 6] = 0.0
    drafts = torch.tensor([[6, 6], [6, 6], [5, 6]])
    for round_, row in enumerate((0, 2, 1)):
        scores[round_, row, slice(None) if bad == -math.inf else 2] = bad
    walk = load("coupled_walk", form)(scores, drafts, SEED, torch.tensor([0, 9, 70]))
    name = Status.NO_MASS if bad == -math.inf else Status.NOT_FINITE
    assert walk.status.tolist() == [name, name, Status.OK]
    assert walk.accepted.tolist() == [0, 2, 0] and walk.tests.tolist() == [1, 2, 1]
    assert walk.token.tolist() == [0, 0, 6]


def test_noise_is_drawn_only_for_rows_that_are_reached(monkeypatch):
    drawn: list[int] = []
    draw = gumbel.reference

    def counting(seed: int, role: int, counters: Tensor, vocab: int) -> Tensor:
        drawn.extend(counters.tolist())
        return draw(seed, role, counters, vocab)

    scores, drafts, counters = _rounds(20, 3, 9, torch.float32)
    monkeypatch.setattr(gumbel, "reference", counting)
    walk = coupled_walk.reference(scores, drafts, SEED, counters)
    used = [int(c) + j for c, a in zip(counters, walk.accepted, strict=True) for j in range(int(a) + 1)]
    assert sorted(drawn) == sorted(used) and len(used) < 20 * 4


VOCAB, LENGTH = 13, 120
TABLE = torch.randn(VOCAB, VOCAB, generator=torch.Generator().manual_seed(4)).mul(1.5)
TABLE[:, 3] = -math.inf


def _plain_stream() -> list[int]:
    """Tokens of plain sampling from a table of next-token scores, event t for token t."""
    tokens = [0]
    for counter in range(LENGTH):
        tokens.append(_plain(TABLE[tokens[-1]], counter))
    return tokens[1:]


def _speculative_stream(form: str, drafter: str, count: int, step: int = 1) -> list[int]:
    walk = load("coupled_walk", form)
    generator = torch.Generator().manual_seed(count)
    tokens = [0]
    while len(tokens) <= LENGTH:
        at = len(tokens) - 1
        drafts: list[int] = []
        for j in range(count):
            last = (tokens + drafts)[-1]
            if drafter == "random":
                drafts.append(int(torch.randint(0, VOCAB, (1,), generator=generator)))
            elif drafter == "greedy":
                drafts.append(int(TABLE[last].argmax()))
            else:  # the same noise on its own, somewhat different scores
                drafts.append(_plain(TABLE[last] * (1.0 if drafter == "oracle" else 0.6), at + j))
        scores = TABLE[torch.tensor([tokens[-1], *drafts])][None]
        # A step other than 1 stands for a walk that takes its noise from the wrong rows.
        found = walk(scores, torch.tensor([drafts], dtype=torch.long), SEED, torch.tensor([at * step]))
        tokens += [*drafts[: int(found.accepted)], int(found.token)]
    return tokens[1 : LENGTH + 1]


@pytest.mark.parametrize("count", [0, 1, 3, 7])
@pytest.mark.parametrize("drafter", ["random", "greedy", "coupled", "oracle"])
def test_the_stream_is_that_of_plain_sampling_whatever_is_drafted(drafter, count):
    assert _speculative_stream("reference", drafter, count) == _plain_stream()


def test_the_stream_in_the_fused_form():
    assert _speculative_stream("fused", "coupled", 3) == _plain_stream()


def test_noise_of_the_wrong_event_is_noticed():
    """Teeth: the counter of row 0 is not that of the token it predicts."""
    assert _speculative_stream("reference", "coupled", 3, step=0) != _plain_stream()


def test_a_seed_on_the_device_is_the_same_seed():
    scores, drafts, counters = _rounds(4, 2, 30, torch.float32)
    seed = torch.tensor([7])
    expected = coupled_walk.reference(scores, drafts, 7, counters)
    assert_same(coupled_walk.reference(scores, drafts, seed, counters), expected)
    assert_same(load("coupled_walk", "fused")(scores, drafts, seed, counters), expected)
