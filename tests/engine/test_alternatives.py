"""Top alternatives of a row: the softmax's largest, in order, nothing impossible."""

from __future__ import annotations

import torch

from engine.alternatives import alternatives


def test_they_are_the_largest_probabilities_in_order():
    scores = torch.randn(3, 50, generator=torch.Generator().manual_seed(3)) * 3
    for row, found in zip(torch.softmax(scores, -1), alternatives(scores, 5), strict=True):
        assert [token for token, _ in found] == row.argsort(descending=True)[:5].tolist()
        assert all(abs(chance - float(row[token])) < 1e-5 for token, chance in found)


def test_removed_tokens_are_left_out_and_few_are_no_error():
    scores = torch.tensor([[0.0, -torch.inf, 0.0, -torch.inf]])
    assert alternatives(scores, 3) == (((0, 0.5), (2, 0.5)),)
    assert alternatives(scores, 0) == () and alternatives(scores[:0], 3) == ()
