"""Fixtures of the sampling tests."""

from __future__ import annotations

import pytest
import torch

from engine.rules import RejectionRule
from tests.engine.sampling.numbers import from_blocks


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Tables and tiny models are too small to share."""
    torch.set_num_threads(1)


@pytest.fixture
def quick_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejection takes its uniforms from blocks: the same values, computed together."""
    monkeypatch.setattr(RejectionRule, "_uniforms", from_blocks)
