"""Which form of an operation runs: the one table of names, and the one rule.

The torch `reference` runs on the CPU and where Triton is missing, the Triton form on CUDA. A module is imported when
one of its operations is first picked, so that Triton is never needed on a machine that has no use for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import torch

Form = Literal["reference", "fused"]


class Op(NamedTuple):
    """Where the two forms of one operation live: the module in `kernels` and in `kernels.triton`, and the names."""

    module: str
    reference: str = "reference"
    fused: str = "fused"


OPS = MappingProxyType(
    {
        "attention": Op("attention", reference="pool_reference"),
        "rmsnorm": Op("rmsnorm"),
        "rotary": Op("rotary"),
        "swiglu": Op("swiglu"),
        "philox": Op("philox"),
        "gumbel": Op("gumbel"),
        "categorical": Op("categorical"),
        "penalties": Op("penalties"),
        "row_filter": Op("row_filter"),
        "greedy_walk": Op("greedy_walk"),
        "rejection_walk": Op("rejection_walk"),
        "coupled_walk": Op("coupled_walk"),
    }
)
"""Every operation by name."""

_forced: ContextVar[Form | None] = ContextVar("forced", default=None)


def pick(name: str, device: torch.device) -> Callable[..., Any]:
    """The function that computes operation `name` for tensors on `device`.

    Raises:
        ValueError: no operation has this name.
    """
    if name not in OPS:
        raise ValueError(f"No operation is called {name!r}; choose one of {', '.join(OPS)}.")
    return _load(name, form(device))


def form(device: torch.device) -> Form:
    """Which form runs for tensors on `device` here and now."""
    forced = _forced.get()
    if forced is not None:
        return forced
    return "fused" if device.type == "cuda" and has_triton() else "reference"


@contextmanager
def force(form: Form) -> Iterator[None]:
    """Inside the block every operation runs in this form, whatever the device; for tests and comparisons.

    Holds in the thread that enters it. A fused form on CPU tensors needs Triton's interpreter.
    """
    token = _forced.set(form)
    try:
        yield
    finally:
        _forced.reset(token)


@cache
def has_triton() -> bool:
    """Whether Triton is installed and can be imported."""
    if find_spec("triton") is None:
        return False
    try:
        import_module("triton.language")
    except (ImportError, OSError, RuntimeError):  # installed, but broken here: a library that does not load
        return False
    return True


@cache
def _load(name: str, form: Form) -> Callable[..., Any]:
    op = OPS[name]
    folder, function = ("kernels", op.reference) if form == "reference" else ("kernels.triton", op.fused)
    loaded: Callable[..., Any] = getattr(import_module(f"{folder}.{op.module}"), function)
    return loaded
