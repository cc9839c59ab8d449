"""Compiles the kernels of the model's operations as a forward would call them; needs no device. Run as a program.

Every call goes as far as machine code and no further; its kernel, architecture, case and a hash of the code are
printed as JSON lines. The interpreter accepts much that the compiler refuses, and says nothing of what it makes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from kernels.triton import attention, rmsnorm, rotary, swiglu

WIDTHS = (1, 2, 5, 8, 16)
HEADS, KV_HEADS, CAPACITY, SLOTS = 32, 8, 4224, 4  # an 8B Llama's attention


class Target:
    """What the compiler asks of a driver."""

    def __init__(self, architecture: int) -> None:
        self.target = GPUTarget("cuda", architecture, 32)

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return self.target.arch

    def get_current_stream(self, device: int) -> int:
        return 0


def compile_only(case: dict[str, object]) -> None:
    """From here on a launch compiles and reports."""
    launch = JITFunction.run

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        made = launch(self, *args, grid=grid, warmup=True, **kwargs)
        code = made.asm["ptx"].split(".section")[0]  # debug information names lines, not code
        digest = hashlib.sha256(code.encode()).hexdigest()
        report = {"kernel": self.fn.__name__, "shared": made.metadata.shared, "code": digest, "mma": "mma.sync" in code}
        sys.stdout.write(json.dumps(report | case) + "\n")

    JITFunction.run = run


def forward(width: int, dim: int, dtype: torch.dtype, **options: Any) -> None:
    """One layer's calls at `width`, their tensors laid out as projections leave them."""

    def rows(heads: int) -> torch.Tensor:
        return torch.empty(width, heads, dim, dtype=dtype).transpose(0, 1)

    keys = torch.empty(SLOTS, KV_HEADS, CAPACITY, dim, dtype=dtype)
    values = torch.empty(SLOTS, CAPACITY // 128, KV_HEADS, 128, dim, dtype=dtype)
    place = [torch.zeros(1, dtype=torch.int32) for _ in range(3)]
    turns = torch.empty(width, dim, dtype=dtype)
    query = rotary.fused(rows(HEADS), rows(KV_HEADS), rows(KV_HEADS), turns, turns, keys, values, *place[:2])
    attention.fused(query, keys, values, *place, scaling=0.1, **options)
    hidden, gates = torch.empty(1, width, HEADS * dim, dtype=dtype), torch.empty(1, width, 14336, dtype=dtype)
    rmsnorm.fused(hidden, hidden, hidden[0, 0], 1e-5)
    rmsnorm.fused(hidden, None, hidden[0, 0], 1e-5, 1.0, round_first=False)
    swiglu.fused(gates, gates)


def main(architectures: list[int]) -> None:
    case: dict[str, object] = {}
    compile_only(case)
    for architecture in architectures:
        driver.set_active(Target(architecture))
        for width in WIDTHS:
            case |= {"sm": architecture, "width": width, "case": "llama"}
            forward(width, 128, torch.bfloat16)
        everything = {"window": 512, "softcap": 50.0, "sinks": torch.zeros(HEADS)}
        case |= {"width": 5, "case": "everything"}
        forward(5, 256, torch.float16, **everything)
        case |= {"case": "fp32"}
        forward(5, 80, torch.float32)


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
