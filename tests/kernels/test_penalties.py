"""Penalties against transformers' processor and a token-by-token loop, row by row with the context of that row."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers.generation.logits_process import RepetitionPenaltyLogitsProcessor

from kernels import penalties
from tests.kernels.forms import FORMS, load

VOCAB = 31


def _case(rows: int = 5, length: int = 40, vocab: int = VOCAB, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Logits of both signs and -inf, a history with repeats, drafts that repeat it, themselves, and neither."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, vocab, generator=generator) * 3
    logits[:, vocab // 2] = float("-inf")
    history = torch.randint(0, vocab // 2 + 1, (length,), generator=generator)
    drafts = torch.randint(0, vocab, (rows - 1,), generator=generator)
    if rows > 4:
        drafts[1] = drafts[0] = vocab - 1  # new to the history, and twice
        drafts[2] = history[0] if length else 0
    return logits, history, drafts


def _by_hand(
    logits: Tensor, history: Tensor, drafts: Tensor, repetition: float, frequency: float, presence: float, last_n: int
) -> Tensor:
    out = logits.double().clone()
    for row in range(len(out)):
        context = history.tolist() + drafts.tolist()[:row]
        window = context[-last_n:] if last_n else []
        for token in set(context):
            score = float(out[row, token])
            score = score * repetition if score < 0 else score / repetition
            if token in window:
                score -= window.count(token) * frequency + presence
            out[row, token] = score
    return out


SETTINGS = [
    (1.0, 0.0, 0.0, 64),
    (1.3, 0.0, 0.0, 64),
    (0.8, 0.0, 0.0, 0),
    (1.0, 0.4, 0.0, 64),
    (1.0, 0.0, 0.7, 3),
    (1.0, 0.5, 0.5, 0),
    (1.2, 0.3, -0.6, 7),
    (1.2, -0.3, 0.6, 41),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("rows", "length"), [(5, 40), (1, 40), (5, 0), (1, 0), (3, 2)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_equals_a_loop_over_tokens(form, setting, rows, length, dtype):
    logits, history, drafts = _case(rows, length)
    logits = logits.to(dtype)
    before = logits.clone()
    repetition, frequency, presence, last_n = setting
    out = load("penalties", form)(
        logits, history, drafts, repetition=repetition, frequency=frequency, presence=presence, last_n=last_n
    )
    assert out.dtype == torch.float32 and torch.equal(logits, before) and out.data_ptr() != logits.data_ptr()
    torch.testing.assert_close(out.double(), _by_hand(logits, history, drafts, *setting), atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("penalty", [1.3, 0.7])
def test_repetition_has_the_bits_of_transformers(form, penalty):
    logits, history, drafts = _case(vocab=901, length=300)
    out = load("penalties", form)(logits, history, drafts, repetition=penalty, frequency=0.0, presence=0.0, last_n=64)
    processor = RepetitionPenaltyLogitsProcessor(penalty)
    for row in range(len(logits)):
        context = torch.cat([history, drafts[:row]])
        assert torch.equal(out[row], processor(context[None], logits[row : row + 1])[0])


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_row_that_sees_one_draft_more_or_less_is_noticed(shift):
    """Teeth: the context of the neighbouring row."""
    logits, history, drafts = _case()
    setting = (1.3, 0.4, 0.2, 16)
    wrong = _by_hand(logits, history, torch.cat([drafts, drafts])[:4], *setting)
    for row in range(len(logits)):
        seen = drafts[: max(0, min(row + shift, 4))]
        wrong[row] = _by_hand(logits[row : row + 1], torch.cat([history, seen]), drafts[:0], *setting)[0]
    out = penalties.reference(logits, history, drafts, repetition=1.3, frequency=0.4, presence=0.2, last_n=16)
    assert not torch.allclose(out.double(), wrong, atol=1e-3)


@pytest.mark.parametrize("form", FORMS)
def test_a_negative_id_is_no_token_but_takes_its_place(form):
    logits, history, drafts = _case()
    history[-3:] = -1
    out = load("penalties", form)(logits, history, drafts, repetition=1.0, frequency=1.0, presence=0.0, last_n=4)
    expected = logits.double().clone()
    expected[0, history[-4]] -= 1.0
    torch.testing.assert_close(out[0].double(), expected[0])


def test_fused_agrees_over_a_long_context():
    logits, history, drafts = _case(rows=8, length=777, vocab=503, seed=5)
    setting = {"repetition": 1.1, "frequency": 0.2, "presence": 0.1, "last_n": 200}
    expected = penalties.reference(logits, history, drafts, **setting)
    torch.testing.assert_close(load("penalties", "fused")(logits, history, drafts, **setting), expected)


@pytest.mark.parametrize("form", FORMS)
def test_nan_and_infinity_stay_for_the_walk_to_name(form):
    logits, history, drafts = _case()
    logits[0, history[0]], logits[1, history[1]] = float("nan"), float("inf")
    out = load("penalties", form)(logits, history, drafts, repetition=1.2, frequency=0.2, presence=0.1, last_n=64)
    assert out[0, history[0]].isnan() and out[1, history[1]] == float("inf")
    assert (out[2:, VOCAB // 2] == float("-inf")).all()
