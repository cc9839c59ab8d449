"""The two forms of an operation for a test that runs both, or compares one with the other."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import torch
from torch import Tensor

FORMS = ("reference", "fused")


def load(name: str, form: str) -> Callable[..., Any]:
    """`form` of operation `name`, taking and giving CPU tensors wherever it runs."""
    if form == "reference":
        reference: Callable[..., Any] = import_module(f"kernels.{name}").reference
        return reference
    pytest.importorskip("triton", reason="Triton has no package for this platform")
    fused = import_module(f"kernels.triton.{name}").fused
    device = "cuda" if torch.cuda.is_available() else "cpu"  # on the CPU: in the interpreter (tests/conftest.py)

    def run(*args: Any, **kwargs: Any) -> Any:
        moved = [arg.to(device) if isinstance(arg, Tensor) else arg for arg in args]
        named = {key: arg.to(device) if isinstance(arg, Tensor) else arg for key, arg in kwargs.items()}
        return _home(fused(*moved, **named))

    return run


def _home(result: Any) -> Any:
    if isinstance(result, Tensor):
        return result.cpu()
    parts = [part.cpu() for part in result]
    return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)


def assert_same(found: tuple[Tensor, ...], expected: tuple[Tensor, ...]) -> None:
    """Every tensor of two results is equal, dtype included."""
    assert len(found) == len(expected)
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one.dtype == other.dtype, index
        assert torch.equal(one, other), f"part {index}: {one.tolist()} is not {other.tolist()}"
