"""Fixtures shared by every test: tiny checkpoints and engines, built once a run, and the default one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Before anything of the engine is imported: its own invariant checks run after every public call.
os.environ.setdefault("DRAFTSCOPE_DEBUG", "1")
# Before torch is: waiting threads sleep instead of spinning, or two busy processes slow each other tenfold.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch

# Before Triton is, which transformers may do: without a CUDA device the Triton kernels run in its interpreter.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

if TYPE_CHECKING:
    from engine import Engine

TinyEngine = Callable[..., "Engine"]


@pytest.fixture(autouse=True)
def threads(request: pytest.FixtureRequest) -> None:
    """One thread for tiny models, whose products are too small to share; two for the default checkpoint.

    An engine proves its widths under the number of threads it was loaded with, so the two never mix.
    """
    names = set(request.fixturenames)
    if names & {"tiny_engine", "default_engine"}:
        torch.set_num_threads(2 if "default_engine" in names else 1)


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`tiny_checkpoint("llama")` -> the folder of that checkpoint; the names are in tests/factories.py."""
    from tests.factories import build_checkpoint

    root = tmp_path_factory.mktemp("checkpoints")
    built: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in built:
            built[name] = build_checkpoint(name, root / name)
        return built[name]

    return get


@pytest.fixture(scope="session")
def tiny_engine(tiny_checkpoint: Callable[[str], Path]) -> Iterator[TinyEngine]:
    """`tiny_engine("llama", dtype="bfloat16", max_ctx=96)` -> an engine, shared by all who ask alike."""

    from engine import load_engine

    engines: dict[tuple[object, ...], Engine] = {}

    def get(name: str, dtype: str = "float32", max_ctx: int = 256, max_draft_len: int = 7, slots: int = 4) -> Engine:
        key = (name, dtype, max_ctx, max_draft_len, slots)
        if key not in engines:
            engines[key] = load_engine(
                str(tiny_checkpoint(name)),
                drafter="none",
                draft_len=max_draft_len,
                max_draft_len=max_draft_len,
                device="cpu",
                dtype=dtype,
                max_ctx=max_ctx,
                slots=slots,
                threads=1,
            )
        return engines[key]

    yield get
    for engine in engines.values():
        engine.close()


@pytest.fixture(scope="session")
def default_engine() -> Iterator[Engine]:
    """The default checkpoint in float32 on the CPU, 1024 rows of context, drafter `ngram`, K = 7."""
    from engine import load_engine

    engine = load_engine("default", drafter="ngram", device="cpu", dtype="float32", max_ctx=1024, slots=3, threads=2)
    yield engine
    engine.close()
