"""`make bench`: tokens per second of plain and speculative decoding beside `transformers.generate`.

All arms run in one process with the same threads, over the same fixed conversations and the same number of new tokens.
`generate` has a copy of the weights of its own, since an engine packs those it serves. Arms take turns within every repeat, so that a machine that slows down slows all of them;
what is reported is the median over the repeats.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch
import transformers

from benchmarks.arms import Arm, GenerateArm, Result, SessionArm
from benchmarks.prompts import CONVERSATIONS, suffixes
from engine import Engine, SpecTelemetry, load_engine
from engine.checkpoints import load_checkpoint

RESULTS = Path(__file__).parent / "results"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print the table, and write the JSON."""
    options = _options(argv)
    if options.threads:
        torch.set_num_threads(options.threads)
    transformers.utils.logging.set_verbosity_error()
    arms, engine = _arms(options)
    turns = {name: suffixes(engine.tokenizer, messages[: options.turns]) for name, messages in CONVERSATIONS.items()}
    results = _measure(arms, turns, options.new, options.repeat)
    rows = [_summary(arm.name, results[arm.name]) for arm in arms]
    for row in rows:
        row["speedup"] = row["tokens_per_s"] / rows[0]["tokens_per_s"]
    print(
        f"\n{engine.checkpoint.id}, {str(engine.trunk.dtype).removeprefix('torch.')} on {engine.trunk.device}, "
        f"{torch.get_num_threads()} threads, W = {engine.width}, K = {options.draft_len}; {len(turns)} "
        f"conversations of {options.turns} turns, {options.new} new tokens each, median of {options.repeat}."
    )
    print(engine.verdict)
    print(_table(rows))
    print(_write(rows, options, engine))


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="default", help="checkpoint reference (default: %(default)s)")
    parser.add_argument("--drafter", default="ngram", help="drafter of the speculative arm (default: %(default)s)")
    parser.add_argument("--draft-len", type=int, default=7, help="K, most drafts a round (default: %(default)s)")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--turns", type=int, default=3, help="turns of each conversation (default: %(default)s)")
    parser.add_argument("--new", type=int, default=64, help="new tokens a turn (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="repeats, of which the median counts")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's own choice")
    options = parser.parse_args(argv)
    if min(options.turns, options.new, options.repeat, options.draft_len) < 1:
        parser.error("--turns, --new, --repeat and --draft-len must be at least 1.")
    return options


def _arms(options: argparse.Namespace) -> tuple[list[Arm], Engine]:
    """The arms, stock `generate` first, and the speculative engine."""
    engine = load_engine(
        options.model,
        drafter=options.drafter,
        draft_len=options.draft_len,
        max_draft_len=max(7, options.draft_len),
        device=options.device,
        dtype=options.dtype,
        max_ctx=1024,
        slots=1,
        debug=False,
        progress=lambda sentence, fraction: print(sentence),
    )
    plain = Engine(engine.checkpoint, drafter="none", draft_len=0, max_draft_len=0, max_ctx=1024, slots=1, debug=False)
    stock = load_checkpoint(
        options.model,
        device=engine.trunk.device,
        dtype=engine.trunk.dtype,
        attn_implementation="sdpa",
        max_ctx=1024,
    )
    arms: list[Arm] = [
        GenerateArm(stock.model),
        SessionArm("plain (W = 1)", plain, "none", 0),
        SessionArm(options.drafter, engine, options.drafter, options.draft_len),
    ]
    return arms, engine


def _measure(
    arms: Sequence[Arm], turns: dict[str, list[list[int]]], new: int, repeat: int
) -> dict[str, list[list[Result]]]:
    """Results by arm, repeat and conversation; a short pass before the clock counts warms every arm."""
    for arm in arms:
        arm.run(next(iter(turns.values()))[:1], 8)
    out: dict[str, list[list[Result]]] = {arm.name: [[] for _ in range(repeat)] for arm in arms}
    for number in range(repeat):
        for name, conversation in turns.items():
            for arm in arms:
                result = arm.run(conversation, new)
                out[arm.name][number].append(result)
                speed = sum(map(len, result.tokens)) / sum(result.seconds)
                print(f"repeat {number + 1}/{repeat}  {name:6}  {arm.name:22}  {speed:6.1f} tokens/s", flush=True)
    return out


def _summary(name: str, repeats: list[list[Result]]) -> dict[str, Any]:
    """Medians over the repeats of one arm; counts are the same in each and come from the first."""
    seconds = [sum(sum(result.seconds) for result in repeat) for repeat in repeats]
    first = repeats[0]
    tokens = sum(len(turn) for result in first for turn in result.tokens)
    telem = SpecTelemetry()
    for result in first:
        telem = telem.merge(result.telem)
    return {
        "arm": name,
        "tokens_per_s": tokens / median(seconds),
        "seconds": seconds,
        "tokens": tokens,
        "forwards": sum(result.forwards for result in first),
        "rounds": sum(result.rounds for result in first),
        "prefills": sum(result.prefills for result in first),
        "flushes": sum(result.flushes for result in first),
        "tokens_per_round": telem.tokens_per_round,
        "acceptance": telem.draft_acceptance_rate,
        "telemetry": telem.to_dict(),
    }


def _table(rows: list[dict[str, Any]]) -> str:
    """The figures in aligned columns; a dash where an arm has no such thing."""
    heads = (
        "arm",
        "tokens/s",
        "speed-up",
        "tokens",
        "forwards",
        "rounds",
        "prefills",
        "flushes",
        "tok/round",
        "accepted",
    )
    lines = [heads]
    for row in rows:
        spec = row["rounds"] > 0
        lines.append(
            (
                row["arm"],
                f"{row['tokens_per_s']:.1f}",
                f"{row['speedup']:.2f}x",
                str(row["tokens"]),
                str(row["forwards"]),
                str(row["rounds"]) if spec else "-",
                str(row["prefills"]),
                str(row["flushes"]) if spec else "-",
                f"{row['tokens_per_round']:.2f}" if spec else "-",
                f"{row['acceptance']:.0%}" if row["telemetry"]["drafted"] else "-",
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in cells)
        for cells in (list(enumerate(zip(line, widths, strict=True))) for line in lines)
    )


def _write(rows: list[dict[str, Any]], options: argparse.Namespace, engine: Engine) -> str:
    """Save everything as JSON and say where."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"bench-{time.strftime('%Y%m%d-%H%M%S')}.json"
    document = {
        "checkpoint": engine.checkpoint.id,
        "options": vars(options),
        "settings": engine.new_trace().header.settings,
        "versions": engine.new_trace().header.versions,
        "machine": {"processor": platform.processor() or platform.machine(), "threads": torch.get_num_threads()},
        "arms": rows,
    }
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return f"Written to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}."


if __name__ == "__main__":
    main()
