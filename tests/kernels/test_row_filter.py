"""The filters against transformers' processors in transformers' order, and rows that are hard on a threshold."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.generation.logits_process import (
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from kernels import row_filter
from tests.kernels.forms import FORMS, load

OFF = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
GRID = [dict(zip(OFF, values, strict=True)) for values in product((0.7, 1.5), (0, 1, 20), (1.0, 0.9, 0.3), (0.0, 0.1))]
NINF = -math.inf


def _rows(vocab: int, seed: int = 0) -> Tensor:
    """Steep, ordinary and nearly flat rows, and one with removed tokens."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(8, vocab, generator=generator) * torch.tensor([[6.0], [3.0], [3], [1], [1], [0.3], [0.01], [2]])
    rows[7, ::3] = NINF
    return rows


def _transformers(logits: Tensor, setting: dict[str, float]) -> Tensor:
    steps = LogitsProcessorList([TemperatureLogitsWarper(setting["temperature"])])
    if setting["top_k"]:
        steps.append(TopKLogitsWarper(int(setting["top_k"])))
    if setting["top_p"] < 1:
        steps.append(TopPLogitsWarper(setting["top_p"]))
    if setting["min_p"]:
        steps.append(MinPLogitsWarper(setting["min_p"]))
    return steps(torch.zeros(len(logits), 1, dtype=torch.long), logits)


def test_the_order_here_is_the_one_generate_uses():
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=8, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1)
    )
    config = GenerationConfig(do_sample=True, temperature=0.5, top_k=5, top_p=0.9, min_p=0.1)
    model._prepare_special_tokens(config, False)
    steps = model._get_logits_processor(config, 1, torch.zeros(1, 1), None, LogitsProcessorList(), device="cpu")
    names = [type(step).__name__ for step in steps if type(step).__name__.endswith("Warper")]
    assert names == ["TemperatureLogitsWarper", "TopKLogitsWarper", "TopPLogitsWarper", "MinPLogitsWarper"]


@pytest.mark.parametrize("setting", GRID, ids=str)
@pytest.mark.parametrize("vocab", [17, 1000])
def test_supports_and_probabilities_are_those_of_transformers(setting, vocab):
    logits = _rows(vocab)
    before = logits.clone()
    found, expected = row_filter.reference(logits, **setting), _transformers(logits, setting)
    assert torch.equal(logits, before)
    assert torch.equal(found == NINF, expected == NINF)
    assert torch.equal(found, expected)
    torch.testing.assert_close(found.softmax(-1), expected.softmax(-1))


@pytest.mark.parametrize("swap", ["top_p before top_k", "min_p before top_p"])
def test_another_order_is_noticed(swap):
    """Teeth: the same filters, two of them exchanged."""
    logits = _rows(1000)
    first, second = ({"top_p": 0.6}, {"top_k": 20}) if swap.startswith("top_p") else ({"min_p": 0.1}, {"top_p": 0.6})
    wrong = row_filter.reference(row_filter.reference(logits, **OFF | first), **OFF | second)
    assert not torch.equal(wrong, _transformers(logits, OFF | first | second))


def test_a_wide_flat_row_is_summed_to_its_end():
    """Wider than the first look at the sorted values, and flat enough to need nearly all of them."""
    logits = _rows(20_000)
    for top_p in (0.5, 0.999):
        kept = row_filter.reference(logits, **OFF | {"top_p": top_p}) > NINF
        assert int(kept.sum(-1).max()) > 8 * row_filter.FIRST_LOOK
        mass = (kept * logits.double().softmax(-1)).sum(-1)
        without_last = mass - torch.where(kept, logits.double().softmax(-1), math.inf).amin(-1)
        assert bool((mass >= top_p - 1e-6).all()) and bool((without_last < top_p + 1e-6).all())


@pytest.mark.parametrize("form", FORMS)
def test_ties_at_a_boundary_are_all_kept(form):
    logits = torch.tensor([[0.0, 2.0, 1.0, 1.0, -0.0, 1.0, 0.0]])
    run = load("row_filter", form)
    assert (run(logits, **OFF | {"top_k": 2}) > NINF).tolist() == [[False, True, True, True, False, True, False]]
    assert (run(logits, **OFF | {"top_k": 5}) > NINF).all()
    top = float(logits.double().softmax(-1)[0, 1])
    assert (run(logits, **OFF | {"top_p": top + 0.01}) > NINF).sum() == 4
    assert (run(logits, **OFF | {"top_p": top - 0.01}) > NINF).sum() == 1
    # All four of top-k's two, ties included, are the mass that top-p takes its share of.
    share = math.e / (math.e + 3)
    assert (run(logits, **OFF | {"top_k": 2, "top_p": share + 0.01}) > NINF).sum() == 4
    assert (run(logits, **OFF | {"top_k": 2, "top_p": share - 0.01}) > NINF).sum() == 1
    assert (run(torch.ones(1, 9), **OFF | {"top_k": 1, "top_p": 0.01, "min_p": 1.0}) > NINF).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("setting", [*({key: value} for key, value in [("top_p", 0.0), ("min_p", 1.0), ("top_k", 1)])])
def test_the_strictest_filter_keeps_the_largest(form, setting):
    logits = _rows(300)
    out = load("row_filter", form)(logits, **OFF | setting)
    assert ((out > NINF).sum(-1) == 1).all() and torch.equal(out.argmax(-1), logits.argmax(-1))


@pytest.mark.parametrize("form", FORMS)
def test_a_share_that_is_met_exactly_takes_no_more(form):
    if form == "fused" and torch.cuda.is_available():
        pytest.skip("the device's exponential is not exact, and the test is about equality")
    logits = torch.tensor([[-math.log(2), 0.0, -math.log(2)]])
    assert logits.exp().tolist() == [[0.5, 1.0, 0.5]]
    assert (load("row_filter", form)(logits, **OFF | {"top_p": 0.5}) > NINF).tolist() == [[False, True, False]]
    assert (load("row_filter", form)(logits, **OFF | {"top_p": 0.51}) > NINF).all()


def _hard_rows(vocab: int, dtype: torch.dtype) -> Tensor:
    rows = torch.cat([_rows(vocab, seed=vocab), torch.zeros(4, vocab)])
    rows[2] = (rows[2] * 4).round() / 4  # ties everywhere
    rows[8, vocab // 2] = 3.0  # one stands out
    rows[9] = NINF
    rows[9, vocab // 3] = -4.0  # one-hot
    rows[10] = torch.linspace(-1e-3, 1e-3, vocab)  # around zero, where floats are dense
    rows[11] = NINF  # all masked
    return rows.to(dtype)


@pytest.mark.parametrize(
    ("vocab", "dtype", "setting"),
    [
        *product((1,), (torch.float32,), GRID[-2:]),
        *product((97,), (torch.float16,), GRID[::3] + GRID[-3::2]),
        *product((8193,), (torch.float32,), (GRID[6], GRID[8], GRID[-1])),
    ],
    ids=str,
)
def test_fused_keeps_the_same_tokens(vocab, dtype, setting):
    logits = _hard_rows(vocab, dtype)
    expected = row_filter.reference(logits, **setting)
    found = load("row_filter", "fused")(logits, **setting)
    assert found.dtype == torch.float32
    assert torch.equal(found == NINF, expected == NINF)
    torch.testing.assert_close(found, expected, atol=0, rtol=1e-6)


def test_fused_takes_its_settings_from_the_device():
    logits, setting = _hard_rows(301, torch.float32), {"temperature": 0.7, "top_k": 20, "top_p": 0.9, "min_p": 0.05}
    run = load("row_filter", "fused")
    device = {
        key: torch.tensor([value], dtype=torch.int32 if key == "top_k" else torch.float32)
        for key, value in setting.items()
    }
    torch.testing.assert_close(run(logits, **device), run(logits, **setting), atol=0, rtol=1e-6)
    off = {key: torch.tensor([value], dtype=device[key].dtype) for key, value in OFF.items()}
    assert torch.equal(run(logits, **off), logits)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # the interpreter is numpy, which remarks on NaN
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("setting", [OFF, *GRID[-4:]], ids=str)
def test_nan_and_infinity_stay_for_the_walk_to_name(form, setting):
    logits = _rows(50)
    logits[0, 7], logits[1, 9], logits[2, 3], logits[3] = math.nan, math.inf, math.nan, NINF
    logits[2, 4] = math.inf
    out = load("row_filter", form)(logits, **setting)
    assert out[0, 7].isnan() and out[1, 9] == math.inf and out[2, 3].isnan() and (out[3] == NINF).all()
    # The rows beside them are filtered as if alone.
    assert torch.equal(out[4:], load("row_filter", form)(logits[4:], **setting))
