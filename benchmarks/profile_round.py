"""`python -m benchmarks.profile_round`: where the time of a round, a plain step and a prefill goes.

Prints each by operator, the shares of matrix products, attention and the rest, and the milliseconds of a forward at
several widths and numbers of threads, beside its matrix products alone and transformers' own forward.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.arms import ArmSettings, stock_model
from benchmarks.conversations import CONVERSATIONS
from benchmarks.forward_times import forward_ms, products_ms, stock_forward_ms, threads_set_to
from benchmarks.machine import machine
from benchmarks.operators import Profile, profile_runs
from benchmarks.prompts import suffixes
from benchmarks.tables import aligned
from engine import Engine, SpecSession, generate_spec_session, load_engine
from engine.engine import PREFILL_CHUNK
from engine.round import Round

WIDTHS = (1, 4, 8, 64)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = _options(argv)
    place = machine()
    cores = options.threads or sorted({1, torch.get_num_threads()})
    print(
        f"{options.model} on {place['processor']}, {place['cores']} cores, OMP_WAIT_POLICY={place['omp_wait_policy']}, "
        f"torch {place['torch']}, commit {place['commit'] or 'unknown'}, load {place['load_1min']:.1f} before; "
        f"{options.context} rows of context."
    )
    engine = _load(options, max(cores))
    plain = Engine(
        engine.checkpoint,
        drafter="none",
        draft_len=0,
        max_draft_len=0,
        max_ctx=engine.max_ctx,
        slots=1,
        threads=max(cores),
        debug=False,
    )
    for title, one, drafter in (
        (f"A round at width {engine.width}, ngram", engine, "ngram"),
        ("A plain step at width 1", plain, "none"),
    ):
        session = _primed(one, drafter, options.context)
        print(f"\n{title}, {max(cores)} threads\n{_profile_text(_profiled(session, options.runs), options.top)}")
        session.close()
    prefill = profile_runs(_prefill_chunk(engine, options.context), options.runs)
    print(f"\nA prefill of {PREFILL_CHUNK} tokens, {max(cores)} threads\n{_profile_text(prefill, options.top)}")
    print(f"\nMilliseconds of one forward, median of {options.count}\n{_widths_text(options, engine, cores)}")


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile_round", description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--model", default="default", help="checkpoint reference (default: %(default)s)")
    add("--dtype", default="auto", choices=("auto", "float32", "bfloat16"))
    add("--draft-len", type=int, default=7, help="K, which sets the width of a round (default: %(default)s)")
    add("--context", type=int, default=256, help="rows before the forward (default: %(default)s)")
    add("--runs", type=int, default=8, help="rounds profiled (default: %(default)s)")
    add("--count", type=int, default=20, help="forwards timed at each width (default: %(default)s)")
    add("--top", type=int, default=15, help="operators shown (default: %(default)s)")
    add("--threads", type=int, nargs="*", help="numbers of threads to compare (default: 1 and torch's own)")
    options = parser.parse_args(argv)
    if min(options.draft_len, options.context, options.runs, options.count, options.top, *(options.threads or [1])) < 1:
        parser.error("Every number must be at least 1.")
    return options


def _load(options: argparse.Namespace, threads: int) -> Engine:
    rows = options.context + (options.runs + 2) * (options.draft_len + 1) + max(WIDTHS)
    return load_engine(
        options.model,
        drafter="ngram",
        draft_len=options.draft_len,
        max_draft_len=options.draft_len,
        device="cpu",
        dtype=options.dtype,
        max_ctx=rows,
        slots=1,
        threads=threads,
        debug=False,
    )


def _primed(engine: Engine, drafter: str, context: int) -> SpecSession:
    """A session with `context` rows of the first conversations, about to run its first round."""
    text = [t for one in CONVERSATIONS[::-1] for part in suffixes(engine.tokenizer, one.messages) for t in part]
    session = engine.new_session(drafter=drafter)
    generate_spec_session(session, (text * (context // len(text) + 1))[:context], 1, ignore_eos=True)
    return session


def _profiled(session: SpecSession, runs: int) -> Profile:
    return profile_runs(lambda: Round(session, frozenset()).run(), runs)


def _prefill_chunk(engine: Engine, context: int) -> Callable[[], object]:
    """One prefill forward after `context` rows, which can be run again and again."""
    slot = engine.trunk.new_slot(context + PREFILL_CHUNK)
    slot.truncate(context)
    tokens, last = list(range(PREFILL_CHUNK)), [PREFILL_CHUNK - 1]
    return lambda: engine.trunk.forward(slot, context, tokens, PREFILL_CHUNK, keep=last)


def _profile_text(seen: Profile, top: int) -> str:
    rows = [
        {"name": op.name, "part": op.part, "calls": f"{op.calls:.0f}", "ms": f"{op.ms:.2f}", "of": op.ms / seen.wall_ms}
        for op in seen.operators[:top]
    ]
    table = aligned(
        [
            ("operator", lambda row: row["name"]),
            ("part", lambda row: row["part"]),
            ("calls", lambda row: row["calls"]),
            ("own ms", lambda row: row["ms"]),
            ("share", lambda row: f"{row['of']:.1%}"),
        ],
        rows,
    )
    parts = seen.parts()
    shares = ", ".join(f"{name} {ms:.2f} ms ({ms / seen.wall_ms:.0%})" for name, ms in parts.items())
    return f"{table}\n{seen.wall_ms:.2f} ms under the profiler: {shares}."


def _widths_text(options: argparse.Namespace, engine: Engine, cores: Sequence[int]) -> str:
    stock = stock_model(ArmSettings(options.model, "", "cpu", options.dtype, engine.max_ctx, engine.threads))
    trunk, context, count = engine.trunk, options.context, options.count
    measured: tuple[tuple[str, Callable[[int], float]], ...] = (
        ("forward", lambda width: forward_ms(trunk, width, context, count)),
        ("its products alone", lambda width: products_ms(trunk.model, width, count)),
        ("transformers, sdpa", lambda width: stock_forward_ms(stock, width, context, count)),
        ("its products alone", lambda width: products_ms(stock, width, count)),
    )
    rows: list[dict[str, Any]] = []
    for number in cores:
        with threads_set_to(number):
            for name, time_at in measured:
                times = {str(width): time_at(width) for width in WIDTHS}
                rows.append({"what": name, "threads": number, **times})
    return aligned(
        [
            ("", lambda row: row["what"]),
            ("threads", lambda row: str(row["threads"])),
            *((f"width {width}", _time(str(width))) for width in WIDTHS),
        ],
        rows,
    )


def _time(width: str) -> Callable[[dict[str, Any]], str]:
    return lambda row: f"{row[width]:.1f}"


if __name__ == "__main__":
    main()
