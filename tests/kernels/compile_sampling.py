"""Compiles the kernels of the sampling operations for given CUDA architectures; needs no device. Run as a program.

The interpreter accepts much that the compiler refuses, such as a variable that changes its type in a branch.
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

F32, BF16, I64, I32 = "*fp32", "*bf16", "*i64", "*i32"  # pointers
WALK_OUT = {"accepted_out": I64, "token_out": I64, "tests_out": I64, "status_out": I32}
NOISE = {"seed": I64, "role": "i32", "counters": I64, "out": F32}
FILTER = {"temperature": "fp32", "top_k": "i32", "top_p": "fp32", "log_min_p": "fp32"}
FILTER_LOADED = {"temperature": F32, "top_k": I32, "top_p": F32, "log_min_p": F32}
ROW = {"stride": "i32", "vocab": 49_153}

Arguments = dict[str, str | int | bool]
KERNELS: list[tuple[str, str, Arguments]] = [
    ("philox", "_philox", NOISE | {"lanes": "i32", "block": 1024}),
    ("gumbel", "_gumbel", NOISE | {"vocab": "i32", "block": 1024}),
    ("categorical", "_draw", {"probs": F32, "u": F32, "token": I64, "status": I32, **ROW, "block": 4096}),
    (
        "penalties",
        "_penalise",
        {"logits": BF16, "history": I64, "drafts": I64, "out": F32, "repetition": "fp32", "frequency": "fp32"}
        | {"presence": "fp32", "last_n": "i32", "length": "i32", "vocab": "i32", "stride": "i32", "block": 64},
    ),
    ("row_filter", "_filter", {"logits": BF16, "out": F32, **FILTER, **ROW, "loaded": 0, "block": 8192}),
    ("row_filter", "_filter", {"logits": F32, "out": F32, **FILTER_LOADED, **ROW, "loaded": 15, "block": 8192}),
    *(
        (
            "rejection_walk",
            "_walk",
            {"p": F32, "drafts": I64, "q": F32, "u_accept": F32, "u_draw": F32, **WALK_OUT, "count": "i32"}
            | dict.fromkeys(("p_round", "p_row", "q_round", "q_row"), "i32")
            | {"vocab": 49_153, "has_q": has_q, "block": 4096},
        )
        for has_q in (False, True)
    ),
    *(
        (
            "choice_walk",
            "_walk",
            {
                "scores": scores,
                "drafts": I64,
                "seed": I64,
                "counters": I64,
                "tops": F32,
                "choices": I32,
                "finished": I32,
                **WALK_OUT,
            }
            | dict.fromkeys(("count", "parts", "score_round", "score_row"), "i32")
            | {"vocab": 49_153, "noisy": noisy, "block": 2048, "parts_block": 32},
        )
        for scores, noisy in ((BF16, False), (F32, True))
    ),
]


def main(architectures: list[int]) -> None:
    for module, name, arguments in KERNELS:
        kernel = getattr(import_module(f"kernels.triton.{module}"), name)
        names = list(inspect.signature(kernel.fn).parameters)
        if names != list(arguments):
            raise SystemExit(f"{module}.{name} takes {names}; bring this list up to date.")
        signature = {key: value if isinstance(value, str) else "constexpr" for key, value in arguments.items()}
        constants = {(i,): value for i, value in enumerate(arguments.values()) if not isinstance(value, str)}
        for architecture in architectures:
            source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
            compile(source, target=GPUTarget("cuda", architecture, 32))
            sys.stdout.write(f"{module}.{name} sm_{architecture}\n")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
