"""The one read of a round: every number as it was, the checks first."""

from __future__ import annotations

import pytest
import torch

from engine import EngineError
from engine.cuda.host_read import HostRead, Unchecked, read
from engine.rules.read import DIRECT


def _check(finite, said="first"):
    return Unchecked(torch.tensor([finite, 0, 0, 0]), lambda: EngineError(said))


def test_every_value_comes_as_it_was():
    tensors = [
        torch.tensor([2**53 - 1, -1]),
        torch.tensor([[0.1, -0.0], [3e38, float("inf")]]),
        torch.empty(0),
        torch.tensor(7, dtype=torch.int32),
        torch.tensor([True]),
        torch.rand(3).bfloat16(),
    ]
    assert read(tensors) == [tensor.reshape(-1).tolist() for tensor in tensors] == DIRECT(*tensors)


def test_a_read_is_counted_and_the_checks_are_not_handed_out():
    count = []
    reads = HostRead([_check(1), _check(1)], lambda: count.append(1))
    assert reads(torch.tensor([4, 5]), torch.tensor([0.5])) == [[4, 5], [0.5]] and reads() == []
    assert len(count) == 2 and reads.once and not DIRECT.once


def test_the_first_forward_that_was_not_finite_is_the_one_refused():
    reads = HostRead([_check(1), _check(0, "second"), _check(0, "third")], lambda: None)
    with pytest.raises(EngineError, match="second"):
        reads(torch.tensor([4]))
