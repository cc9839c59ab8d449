"""The norm: transformers' own bits from the reference, the Triton form beside it, rows that do not see each other."""

from __future__ import annotations

import pytest
import torch
from transformers.models.gemma2.modeling_gemma2 import Gemma2RMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.olmo2.modeling_olmo2 import Olmo2RMSNorm

from kernels.rmsnorm import reference
from tests.kernels.forms import FORMS, load

DTYPES = [torch.float32, torch.float16, torch.bfloat16]  # the kernel widens bfloat16 as it loads it
TOLERANCE = {torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}
VARIANTS = [(0.0, True), (0.0, False), (1.0, False)]


def _rows(rows: int, size: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    return (torch.randn(rows, size, generator=torch.Generator().manual_seed(seed)) * 3).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("cls", "offset", "round_first"),
    [(LlamaRMSNorm, 0.0, True), (Olmo2RMSNorm, 0.0, False), (Gemma2RMSNorm, 1.0, False)],
)
def test_the_reference_has_the_bits_of_the_stock_module(dtype, cls, offset, round_first):
    module = cls(48, eps=1e-5).to(dtype)
    module.weight.data = _rows(1, 48, dtype, seed=5)[0]
    x = _rows(7, 48, dtype)
    normed, summed = reference(x, None, module.weight, 1e-5, offset, round_first=round_first)
    assert torch.equal(normed, module(x)) and summed is x
    normed, summed = reference(x, _rows(7, 48, dtype, 1), module.weight, 1e-5, offset, round_first=round_first)
    assert torch.equal(summed, x + _rows(7, 48, dtype, 1)) and torch.equal(normed, module(summed))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("offset", "round_first"), VARIANTS)
@pytest.mark.parametrize(("rows", "size"), [(1, 1), (3, 80), (5, 577), (2, 2048)])
def test_the_fused_form_agrees(dtype, offset, round_first, rows, size):
    x, residual, weight = _rows(rows, size, dtype), _rows(rows, size, dtype, 1), _rows(1, size, dtype, 2)[0]
    for added in (None, residual):
        expected = reference(x, added, weight, 1e-6, offset, round_first=round_first)
        found = load("rmsnorm", "fused")(x, added, weight, 1e-6, offset, round_first=round_first)
        tolerance = TOLERANCE[dtype]
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, atol=tolerance, rtol=tolerance)
        if dtype != torch.bfloat16:  # the interpreter cuts bfloat16 off where it should round
            assert torch.equal(found[1], expected[1])


@pytest.mark.parametrize("form", FORMS)
def test_a_row_has_the_same_bits_in_any_company_and_shape(form):
    norm = load("rmsnorm", form)
    x, residual, weight = _rows(9, 192, torch.float16), _rows(9, 192, torch.float16, 1), _rows(1, 192, torch.float16)[0]
    whole, _ = norm(x, residual, weight, 1e-5)
    for rows in (slice(0, 1), slice(4, 9), slice(8, 9)):
        assert torch.equal(norm(x[rows], residual[rows], weight, 1e-5)[0], whole[rows])
    shaped, _ = norm(x.view(1, 3, 3, 192), residual.view(1, 3, 3, 192), weight, 1e-5)
    assert torch.equal(shaped.view(9, 192), whole)
    spread = torch.zeros(9, 400, dtype=torch.float16)
    spread[:, 100:292] = x
    assert torch.equal(norm(spread[:, 100:292], residual, weight, 1e-5)[0], whole)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_not_finite_stays_in_its_row(form, bad):
    norm = load("rmsnorm", form)
    x, residual, weight = _rows(3, 48, torch.float32), _rows(3, 48, torch.float32, 1), torch.ones(48)
    clean, _ = norm(x, residual, weight, 1e-5)
    residual[1, 7] = bad
    normed, summed = norm(x, residual, weight, 1e-5)
    assert normed[1, 7].isnan() and not summed[1, 7].isfinite()
    assert torch.equal(normed[::2], clean[::2])


def test_a_mean_taken_over_the_padded_row_would_be_noticed():
    """The comparison above has teeth: 577 of 1024 is what a kernel that forgets the mask divides by."""
    x, weight = _rows(5, 577, torch.float32), torch.ones(577)
    padded = torch.nn.functional.pad(x, (0, 1024 - 577))
    wrong = reference(padded, None, torch.ones(1024), 1e-6)[0][:, :577]
    with pytest.raises(AssertionError):
        torch.testing.assert_close(wrong, reference(x, None, weight, 1e-6)[0], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_an_offset_in_the_form_that_rounds_first_is_refused(form):
    with pytest.raises(AssertionError, match="offset"):
        load("rmsnorm", form)(torch.ones(2, 4), None, torch.ones(4), 1e-5, 1.0)
