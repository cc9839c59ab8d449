"""Every kernel against its reference on the device, in bf16 where the model is, in the shapes of a Llama.

Numbers agree to the rounding of the dtype; what is counted or compared (uniforms, walks, kept tokens) agrees exactly,
or in all but a near-tie of a few. Attention is also held against itself: a row has the same bits in every width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from benchmarks.cuda_check_report import Clock, Report
from kernels.attention import BLOCK
from kernels.dispatch import force, form, pick
from kernels.philox import Role

SECTION = "kernels"
ROUNDING = 2.0**-7
"""Relative to the largest value expected: two roundings of bf16."""
FP32 = 1e-4


@dataclass(frozen=True)
class Sizes:
    """Of the inputs."""

    heads: int = 32
    kv_heads: int = 8
    dim: int = 128
    capacity: int = 4096
    hidden: int = 4096
    vocab: int = 128256
    width: int = 8
    rounds: int = 16


TINY = Sizes(heads=4, kv_heads=2, dim=16, capacity=2 * BLOCK, hidden=64, vocab=331, rounds=4)


class Inputs:
    """Random inputs on the device; the same for both forms."""

    def __init__(self, device: torch.device, sizes: Sizes) -> None:
        self.device, self.sizes = device, sizes
        self._generator = torch.Generator(device).manual_seed(5)

    def normal(self, *shape: int, dtype: torch.dtype = torch.bfloat16, scale: float = 1.0) -> Tensor:
        """Gaussian values."""
        return (torch.randn(*shape, device=self.device, generator=self._generator) * scale).to(dtype)

    def uniform(self, *shape: int) -> Tensor:
        """Values in [0, 1)."""
        return torch.rand(*shape, device=self.device, generator=self._generator)

    def logits(self, *shape: int) -> Tensor:
        """fp32 logits with a few tokens ahead, as a model's."""
        return self.normal(*shape, self.sizes.vocab, dtype=torch.float32, scale=3.0)

    def one(self, value: int) -> Tensor:
        """One integer in device memory."""
        return torch.tensor([value], device=self.device)


Case = tuple[str, str, float, Callable[[Callable[..., Any]], Any]]
"""Name, operation, tolerance (0: every value equal), and the call of one form of it."""


def check_kernels(report: Report, clock: Clock, device: torch.device, sizes: Sizes) -> None:
    """Run every case in the form that runs here and in the reference."""
    report.add(SECTION, "Triton forms run here", form(device) == "fused", ok=form(device) == "fused" or None)
    inputs = Inputs(device, sizes)
    for name, operation, tolerance, call in [*_model_cases(inputs), *_sampling_cases(inputs)]:
        clock.check()
        got = _parts(call(pick(operation, device)))
        with force("reference"):
            expected = _parts(call(pick(operation, device)))
        off = max(_difference(a, b, tolerance) for a, b in zip(got, expected, strict=True))
        unit = "relative" if 0 < tolerance < 1 else "values differ"
        report.add(SECTION, name, off, unit, ok=off <= tolerance)
    clock.check()
    differing = _rows_by_width(inputs)
    report.add(SECTION, "attention rows that another width changes", differing, ok=not differing)


def _parts(result: Any) -> list[Tensor]:
    return [result] if isinstance(result, Tensor) else [part for part in result if part is not None]


def _difference(got: Tensor, expected: Tensor, tolerance: float) -> float:
    """Of numbers the largest difference over the largest value; where a count is tolerated, the values that differ."""
    if tolerance >= 1 or tolerance == 0:
        return float((got != expected).sum())
    got, expected = got.double(), expected.double()
    unequal = got.isfinite() != expected.isfinite()
    apart = torch.where(expected.isfinite(), (got - expected).abs(), 0.0)
    return float("inf") if bool(unequal.any()) else float(apart.max() / expected[expected.isfinite()].abs().max())


def _model_cases(inputs: Inputs) -> list[Case]:
    s, make = inputs.sizes, inputs.normal
    pool = (make(2, s.kv_heads, s.capacity, s.dim), make(2, s.capacity // BLOCK, s.kv_heads, BLOCK, s.dim))
    query, start = make(s.heads, s.width, s.dim), s.capacity - 40
    place = (inputs.one(1), inputs.one(start), inputs.one(start + s.width - 2))
    sinks = make(s.heads)
    key, value = make(s.kv_heads, s.width, s.dim), make(s.kv_heads, s.width, s.dim)
    angle = inputs.uniform(s.width, s.dim) * 6.0
    x, residual, weight = make(s.width, s.hidden), make(s.width, s.hidden), make(s.hidden)

    def attend(**options: Any) -> Callable[[Callable[..., Any]], Any]:
        return lambda run: run(query, *pool, *place, scaling=s.dim**-0.5, **options)

    def turn(run: Callable[..., Any]) -> Any:
        keys, values = pool[0].clone(), pool[1].clone()
        turned = run(query, key, value, angle.cos(), angle.sin(), keys, values, place[0], place[1])
        return turned, keys, values

    return [
        ("attention", "attention", ROUNDING, attend()),
        ("attention in a window", "attention", ROUNDING, attend(window=s.capacity // 3)),
        ("attention with a soft-cap", "attention", ROUNDING, attend(softcap=20.0)),
        ("attention with sinks", "attention", ROUNDING, attend(sinks=sinks)),
        ("rotary and the write of rows", "rotary", ROUNDING, turn),
        ("RMSNorm", "rmsnorm", ROUNDING, lambda run: run(x, residual, weight, 1e-5)),
        (
            "RMSNorm as Gemma's",
            "rmsnorm",
            ROUNDING,
            lambda run: run(x, None, weight, 1e-6, offset=1.0, round_first=False),
        ),
        ("SwiGLU", "swiglu", ROUNDING, lambda run: run(x, residual)),
        ("GeGLU, packed", "swiglu", ROUNDING, lambda run: run(x, activation="gelu_tanh")),
    ]


def _sampling_cases(inputs: Inputs) -> list[Case]:
    s, rounds, drafts = inputs.sizes, inputs.sizes.rounds, inputs.sizes.width - 1
    device = inputs.device
    logits = inputs.logits(rounds, s.width)
    rows = inputs.logits(rounds)
    ids = logits.argmax(-1)[:, :drafts].clone()
    ids[::2, drafts // 2] += 1
    ids[1::4, drafts - 1] = -1
    p, q = (inputs.logits(rounds, n).softmax(-1) for n in (s.width, drafts))
    picked = q.argmax(-1)
    u, last = inputs.uniform(rounds, drafts), inputs.uniform(rounds)
    counters = torch.arange(1000, 1000 + rounds, device=device)
    history = torch.randint(0, s.vocab, (300,), device=device)
    filters = {"temperature": 0.8, "top_k": 50, "top_p": 0.9, "min_p": 0.02}
    penalty = {"repetition": 1.2, "frequency": 0.3, "presence": 0.1, "last_n": 64}
    seed = 2**40 + 7
    return [
        ("Philox uniforms", "philox", 0, lambda run: run(seed, Role.GUMBEL, counters, 1001)),
        ("Gumbel noise", "gumbel", FP32, lambda run: run(seed, Role.GUMBEL, counters, s.vocab)),
        ("categorical draw", "categorical", 1, lambda run: run(rows.softmax(-1), last)),
        ("penalties", "penalties", FP32, lambda run: run(logits[0], history, ids[0], **penalty)),
        ("row filter", "row_filter", FP32, lambda run: run(rows, **filters)),
        ("greedy walk, fp32", "greedy_walk", 0, lambda run: run(logits, ids)),
        ("greedy walk, bf16 with ties", "greedy_walk", 0, lambda run: run(logits.bfloat16(), ids)),
        ("rejection walk", "rejection_walk", 2, lambda run: run(p, picked, q, u, last)),
        ("rejection walk, point masses", "rejection_walk", 2, lambda run: run(p, picked, None, u, last)),
        ("coupled walk", "coupled_walk", 2, lambda run: run(logits, ids, seed, counters)),
    ]


def _rows_by_width(inputs: Inputs) -> int:
    """Rows of attention that differ in bits when computed alone, or in another column."""
    s = inputs.sizes
    keys, values = (
        inputs.normal(2, s.kv_heads, s.capacity, s.dim),
        inputs.normal(2, s.capacity // BLOCK, s.kv_heads, BLOCK, s.dim),
    )
    query, start = inputs.normal(s.heads, s.width, s.dim), s.capacity - 3 * s.width - 1
    attend = pick("attention", inputs.device)

    def rows(first: int, count: int) -> Tensor:
        at = inputs.one(start + first), inputs.one(start + first + count - 1)
        out: Tensor = attend(query[:, first : first + count], keys, values, inputs.one(0), *at, scaling=s.dim**-0.5)
        return out

    whole = rows(0, s.width)
    alone = torch.cat([rows(i, 1) for i in range(s.width)], dim=1)
    shifted = rows(1, s.width - 1)
    return int((whole != alone).any(-1).any(0).sum()) + int((whole[:, 1:] != shifted).any(-1).any(0).sum())
