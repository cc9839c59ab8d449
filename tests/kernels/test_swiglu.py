"""The gated product: the bits of two separate modules from the reference, the Triton form beside it."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from transformers.activations import ACT2FN

from kernels.swiglu import reference
from tests.kernels.forms import FORMS, load

DTYPES = [torch.float32, torch.float16, torch.bfloat16]  # the kernel widens bfloat16 as it loads it
TOLERANCE = {torch.float32: 4e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}
ACTIVATIONS = {"silu": "silu", "gelu_tanh": "gelu_pytorch_tanh"}


def _both(rows: int, size: int, dtype: torch.dtype) -> Tensor:
    """[rows, 2 size], gate then up, gates from the flat ends of the activations to their bend."""
    both = torch.randn(rows, 2 * size, generator=torch.Generator().manual_seed(size)) * 4
    both[0, : min(size, 6)] = torch.tensor([0.0, -0.0, 60.0, -60.0, -5.0, 1e-4])[: min(size, 6)]
    return both.to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_reference_has_the_bits_of_the_stock_modules(dtype, activation):
    gate, up = _both(4, 33, dtype).chunk(2, dim=-1)
    expected = ACT2FN[ACTIVATIONS[activation]](gate) * up
    assert torch.equal(reference(gate, up, activation=activation), expected)
    assert torch.equal(reference(_both(4, 33, dtype), activation=activation), expected)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # the interpreter is numpy, which remarks on exp
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("rows", "size"), [(1, 1), (3, 33), (5, 1500), (1, 1024)])
def test_the_fused_form_agrees_from_one_tensor_or_two(dtype, activation, rows, size):
    both = _both(rows, size, dtype)
    fused = load("swiglu", "fused")
    found = fused(both, activation=activation)
    expected = reference(both, activation=activation)
    assert found.dtype == dtype and found.shape == (rows, size)
    torch.testing.assert_close(found, expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
    assert torch.equal(fused(*both.chunk(2, dim=-1), activation=activation), found)
    shaped = fused(both.view(1, rows, 1, 2 * size), activation=activation)
    assert torch.equal(shaped.view(rows, size), found)


def test_the_halves_swapped_would_be_noticed():
    both = _both(3, 33, torch.float32)
    gate, up = both.chunk(2, dim=-1)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(load("swiglu", "fused")(up, gate), reference(both))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_values_that_are_not_finite_go_through(form, activation):
    gate = torch.tensor([[math.nan, math.inf, -math.inf, 1.0, 1.0, -math.inf, 3e38]])
    up = torch.tensor([[1.0, 2.0, 0.0, math.nan, -math.inf, 1.0, 10.0]])
    out = load("swiglu", form)(gate, up, activation=activation)[0]
    assert out[[0, 2, 3]].isnan().all()
    assert out[1] == math.inf and out[4] == -math.inf and out[6] == math.inf
    assert not out[5].isfinite()
