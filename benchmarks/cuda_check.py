"""`make cuda-check`: whether the CUDA path is right and fast on this device, in six minutes and without a download.

Random weights in the shapes of 1B and 8B Llamas, bf16, made on the device. A section that fails or runs out of its
time is reported, and the others go on. `--tiny` runs all of it in small on a processor: it shows that the check works.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from benchmarks import cuda_check_kernels as kernels
from benchmarks.cuda_check_models import SHAPES, TINY, Shape, checkpoint, engine_of
from benchmarks.cuda_check_report import Clock, OutOfTime, Report, target_table
from benchmarks.cuda_check_rounds import check_exactness, check_rounds
from benchmarks.cuda_check_speed import check_speed, copy_bandwidth
from benchmarks.machine import machine

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Scale:
    """How much is run, and where."""

    device: torch.device
    dtype: torch.dtype
    shapes: tuple[Shape, ...]
    sizes: kernels.Sizes
    copied: int
    """Bytes of the copy that measures the bandwidth."""
    tokens: int
    """Decoded in a run whose tokens are compared,"""
    timed: int
    """and in one that is timed."""
    budgets: dict[str, float]
    """Seconds by section."""


def scale_of(options: argparse.Namespace) -> Scale:
    """The whole check on CUDA, or a tiny one on the processor."""
    budgets = {"kernels": 75.0, "exactness": 60.0, "rounds": 40.0, "speed": 70.0}
    if options.tiny:
        device, dtype = torch.device("cpu"), torch.float32
        return Scale(device, dtype, TINY, kernels.TINY, 2**22, options.tokens or 16, options.tokens or 16, budgets)
    device = torch.device("cuda", torch.cuda.current_device())
    timed = options.tokens or 128
    return Scale(device, torch.bfloat16, SHAPES, kernels.Sizes(), 2**31, min(96, timed), timed, budgets)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the sections, print the table and the targets, and write the JSON."""
    options = _parse(argv)
    transformers.utils.logging.set_verbosity_error()
    scale, place, begin = scale_of(options), machine(), time.perf_counter()
    print(_heading(scale, place))
    report = Report()
    for name, seconds, run in _sections(scale, report):
        if options.sections and not any(name.startswith(one) for one in options.sections):
            continue
        _guarded(report, name, seconds, run)
    spent = time.perf_counter() - begin
    targets = target_table(report, scale.device.type == "cuda")
    print(report.table())
    for name, reason in report.failures.items():
        print(f"\n{name} ended early: {reason}")
    print("\ntargets")
    for sentence, verdict in targets.items():
        print(f"  {verdict:<20} {sentence}")
    document = {
        "options": vars(options) | {"json": str(options.json)},
        "machine": place | {"cuda": torch.version.cuda, "device_name": _device_name(scale.device)},
        "seconds": spent,
        "targets": targets,
        **report.to_dict(),
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(document, indent=1), encoding="utf-8")
    print(f"\n{spent:.0f} s; written to {options.json}")


def _sections(scale: Scale, report: Report) -> list[tuple[str, float, Callable[[Clock], None]]]:
    """(name, seconds, what to run), in order."""
    device, dtype, budgets, small = scale.device, scale.dtype, scale.budgets, scale.shapes[0]
    bandwidth = [0.0]

    def on_engine(check: Callable[..., None]) -> Callable[[Clock], None]:
        def run(clock: Clock) -> None:
            engine = engine_of(checkpoint(small, device, dtype), 7, 1024)
            try:
                check(report, clock, engine, small, scale.tokens)
            finally:
                engine.close()

        return run

    def measure(clock: Clock) -> None:
        bandwidth[0] = copy_bandwidth(device, scale.copied)
        report.add("bandwidth", "copy on the device, read and written", bandwidth[0] / 1e12, "TB/s")

    def speed(shape: Shape) -> Callable[[Clock], None]:
        return lambda clock: check_speed(report, clock, shape, device, dtype, scale.timed, bandwidth[0])

    return [
        ("kernels", budgets["kernels"], lambda clock: kernels.check_kernels(report, clock, device, scale.sizes)),
        ("bandwidth", 10.0, measure),
        ("exactness", budgets["exactness"], on_engine(check_exactness)),
        ("rounds", budgets["rounds"], on_engine(check_rounds)),
        *((f"speed {shape.name}", budgets["speed"], speed(shape)) for shape in scale.shapes),
    ]


def _guarded(report: Report, name: str, seconds: float, run: Callable[[Clock], None]) -> None:
    """One section; what ends it early is noted, and the memory it held is let go."""
    begin = time.perf_counter()
    try:
        run(Clock(seconds))
    except OutOfTime as error:
        report.failures[name] = str(error)
    except Exception as error:  # noqa: BLE001 - a section may fail in any way, and the next one must still run
        last = traceback.extract_tb(error.__traceback__)[-1]
        reason = str(error).partition("\n")[0]
        report.failures[name] = f"{type(error).__name__}: {reason} ({Path(last.filename).name}:{last.lineno})"
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    report.add(name, "section took", time.perf_counter() - begin, "s")


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda_check", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="everything in small, on the processor")
    parser.add_argument("--tokens", type=int, default=0, help="tokens a run (default: 128, tiny 16)")
    parser.add_argument("--sections", default="", help="comma list of sections, or their first words (default: all)")
    parser.add_argument("--json", type=Path, default=RESULTS / f"cuda-check-{time.strftime('%Y%m%d-%H%M%S')}.json")
    options = parser.parse_args(argv)
    options.sections = [name for name in options.sections.split(",") if name]
    if options.tokens and options.tokens < 8:
        parser.error("--tokens must be at least 8.")
    if not options.tiny and not torch.cuda.is_available():
        parser.error("There is no CUDA device here; --tiny runs the check in small on the processor.")
    return options


def _heading(scale: Scale, place: dict[str, Any]) -> str:
    dtype = str(scale.dtype).removeprefix("torch.")
    return (
        f"{_device_name(scale.device)}, {dtype}; torch {place['torch']}, CUDA {torch.version.cuda}, transformers "
        f"{place['transformers']}, commit {place['commit'] or 'unknown'}.\n"
    )


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "the processor, in small"


if __name__ == "__main__":
    main()
