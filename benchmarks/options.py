"""The benchmark's command line, read before anything heavy is imported."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.arm_names import DEFAULT, KINDS, parse_arm
from benchmarks.conversations import CATEGORIES, TURNS


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options, checked. Exits with one sentence for a bad one."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench",
        description="Tokens per second of plain and speculative sessions beside transformers.generate.",
    )
    add = parser.add_argument
    add("--model", default="default", help="checkpoint reference (default: %(default)s)")
    add("--arms", default=",".join(DEFAULT), help=f"comma list of {KINDS} (default: %(default)s)")
    add("--categories", default=",".join(CATEGORIES), help="comma list (default: %(default)s)")
    add("--turns", type=int, default=TURNS, help="turns of each conversation (default: %(default)s)")
    add("--new", type=int, default=48, help="new tokens a turn (default: %(default)s)")
    add("--repeat", type=int, default=3, help="repeats; medians and spread are over them (default: %(default)s)")
    add("--draft-model", default="", help="reference for the model-K arms; without it a stand-in is made")
    add("--stand-in-layers", type=int, default=6, help="layers of the stand-in (default: %(default)s)")
    add("--device", default="auto", help="auto, cpu, cuda or cuda:N (default: %(default)s)")
    add("--dtype", default="auto", choices=("auto", "float32", "bfloat16", "float16"))
    add("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's own choice (default)")
    add("--no-memory", action="store_true", help="skip the peak memory of each arm, which loads each once more")
    options = parser.parse_args(argv)
    try:
        options.arms = list(dict.fromkeys(parse_arm(name) for name in options.arms.split(",")))
    except ValueError as error:
        parser.error(str(error))
    options.categories = list(dict.fromkeys(options.categories.split(",")))
    unknown = next((name for name in options.categories if name not in CATEGORIES), None)
    if unknown is not None:
        parser.error(f"There is no category {unknown!r}; choose among {', '.join(CATEGORIES)}.")
    if not 1 <= options.turns <= TURNS:
        parser.error(f"--turns must be from 1 to {TURNS}.")
    if options.new < 2:
        parser.error("--new must be at least 2: decoding is timed after the first token.")
    if min(options.repeat, options.stand_in_layers) < 1 or options.threads < 0:
        parser.error("--repeat and --stand-in-layers must be at least 1, and --threads at least 0.")
    return options
