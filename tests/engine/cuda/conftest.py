"""Engines that take the device path on the CPU: the kernels' references, and stand-ins for captures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from transformers import AutoModelForCausalLM

if TYPE_CHECKING:
    from engine import Engine
    from engine.trunk import Trunk


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def new_trunk(tiny_checkpoint: Callable[[str], Path]) -> Callable[[str], Trunk]:
    """`new_trunk("llama")` -> a trunk of its own, not packed, whose head runs at widths 4 and 8."""
    from engine.trunk import Trunk

    def make(name: str) -> Trunk:
        model = AutoModelForCausalLM.from_pretrained(tiny_checkpoint(name), attn_implementation="draftscope")
        return Trunk(model.eval(), head_widths=(4, 8))

    return make


@pytest.fixture(scope="session")
def path_engine(tiny_checkpoint: Callable[[str], Path]) -> Iterator[Callable[..., Engine]]:
    """As `tiny_engine`, on the device path; shared by all who ask alike."""
    from engine import load_engine

    engines: dict[tuple[str, int], Engine] = {}

    def get(name: str, slots: int = 2) -> Engine:
        if (name, slots) not in engines:
            torch.set_num_threads(1)
            engines[name, slots] = load_engine(
                str(tiny_checkpoint(name)),
                drafter="none",
                device="cpu",
                max_ctx=256,
                slots=slots,
                threads=1,
                device_path=True,
            )
        return engines[name, slots]

    yield get
    for engine in engines.values():
        engine.close()
