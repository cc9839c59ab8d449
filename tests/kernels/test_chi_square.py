"""The judge of the sampling tests is itself checked against tabled quantiles."""

from __future__ import annotations

import pytest
import torch

from tests.kernels.chi_square import fit, p_value


@pytest.mark.parametrize(
    ("cells", "statistic", "tail"), [(2, 3.841459, 0.05), (5, 13.276704, 0.01), (11, 9.341818, 0.5)]
)
def test_gives_the_tabled_tail(cells, statistic, tail):
    each = 10_000.0
    shift = (statistic * each / 2) ** 0.5  # two cells off by this much, in opposite directions, make the statistic
    counts = torch.full((cells,), each, dtype=torch.float64)
    counts[0] += shift
    counts[1] -= shift
    assert p_value(counts, torch.ones(cells)) == pytest.approx(tail, abs=1e-5)


def test_a_count_without_probability_is_impossible():
    assert p_value(torch.tensor([5, 1]), torch.tensor([1.0, 0.0])) == 0.0


def test_tells_a_wrong_distribution_from_a_right_one():
    probs = torch.tensor([0.5, 0.3, 0.2])
    tokens = torch.multinomial(probs, 20_000, replacement=True, generator=torch.Generator().manual_seed(0))
    assert fit(tokens, probs) > 1e-3
    assert fit(tokens, torch.tensor([0.48, 0.32, 0.2])) < 1e-4
