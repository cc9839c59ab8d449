"""Gumbel noise: the formula to the last bits where it matters most, and its distribution."""

from __future__ import annotations

import pytest
import torch

from kernels import gumbel, philox
from kernels.philox import Role
from tests.kernels.chi_square import BOUND, p_value
from tests.kernels.forms import FORMS, load


def test_is_the_formula_to_rounding():
    counters = torch.arange(40)
    u = philox.reference(2, Role.GUMBEL, counters, 5_000).double()
    expected = -(-u.log()).log()
    assert float(expected.max()) > 11  # the tail that decides who wins is in the sample
    torch.testing.assert_close(
        gumbel.reference(2, Role.GUMBEL, counters, 5_000).double(), expected, atol=2e-6, rtol=1e-6
    )


@pytest.mark.parametrize("vocab", [1, 7, 1024, 1030, 4099])
def test_fused_agrees_to_rounding(vocab):
    counters = torch.tensor([0, 2**33 + 1, 77])
    expected = gumbel.reference(-1, Role.GUMBEL, counters, vocab)
    torch.testing.assert_close(
        load("gumbel", "fused")(-1, Role.GUMBEL, counters, vocab), expected, atol=2e-6, rtol=1e-6
    )


@pytest.mark.parametrize("form", FORMS)
def test_ends_of_the_uniforms_give_finite_noise(form):
    """The smallest and the largest uniform, put through the same arithmetic."""
    u = torch.tensor([0.5 * 2**-23, (2**23 - 0.5) * 2**-23])
    ends = u.log().neg().log().neg()
    assert ends.isfinite().all() and float(ends[0]) > -2.9 and float(ends[1]) < 16.7
    drawn = load("gumbel", form)(3, Role.GUMBEL, torch.arange(8), 4096)
    assert bool(((drawn >= ends[0]) & (drawn <= ends[1])).all())


def test_has_the_gumbel_distribution():
    drawn = gumbel.reference(6, Role.GUMBEL, torch.arange(50), 4_000).double()
    counts = torch.histc((-(-drawn).exp()).exp(), 50, 0.0, 1.0)  # its distribution function makes it uniform
    assert p_value(counts, torch.ones(50)) > BOUND
