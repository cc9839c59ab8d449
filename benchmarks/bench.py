"""`make bench`: speculative sessions beside plain ones and `transformers.generate`, in one run.

All arms decode the same fixed conversations greedily, the same number of new tokens a turn whatever ends it, in the
same dtype, with the same threads. transformers has a model of its own, as it loads it, and gets the whole history in
every turn, as it is used; a session extends its rows.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import transformers

from benchmarks.arms import ArmSettings, build_arms
from benchmarks.conversations import CONVERSATIONS
from benchmarks.figures import group_figures
from benchmarks.machine import machine
from benchmarks.measure import Passes, measure
from benchmarks.options import parse
from benchmarks.passes import Pass
from benchmarks.peak_memory import peak_memory
from benchmarks.prompts import suffixes
from benchmarks.stand_in import build_stand_in
from benchmarks.tables import round_table, speed_table
from engine.checkpoints import load_checkpoint

RESULTS = Path(__file__).parent / "results"
LONG = 400
"""Tokens of a first message that count as long."""

Turns = dict[str, list[list[int]]]
"""By conversation: one suffix of token ids per turn."""


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print the tables, and write the JSON."""
    options = parse(argv)
    if options.threads:
        torch.set_num_threads(options.threads)
    transformers.utils.logging.set_verbosity_error()
    with ExitStack() as stack:
        turns, stop_ids = _prompts(options)
        settings = ArmSettings(
            options.model,
            _draft_model(options, stack),
            options.device,
            options.dtype,
            _rows(turns, options.new),
            torch.get_num_threads(),
        )
        peaks = {} if options.no_memory else _peaks(options, settings, turns)
        built = build_arms(options.arms, settings)
        place = machine()
        print(_heading(options, place, built.dtype, built.device))
        passes = measure(built.arms, turns, options.new, options.repeat)
    members = _groups(turns)
    groups = {name: group_figures(passes, conversations) for name, conversations in members.items()}
    for row in groups["overall"]:
        row["peak_bytes"] = peaks.get(row["arm"])
    for name, rows in groups.items():
        same = [other for other in members if members[other] == members[name]]  # a group of one is also its category
        if name == same[0]:
            print(f"\n{', '.join(same)}\n{speed_table(rows)}")
    print(f"\nrounds and memory, overall\n{round_table(groups['overall'])}\n")
    widths = {name: engine.width for name, engine in built.engines.items()}
    print(_notes(options, widths, _past_the_end(passes, stop_ids)))
    document = {
        "options": vars(options) | {"arms": [str(name) for name in options.arms]},
        "machine": place,
        "dtype": built.dtype,
        "device": built.device,
        "widths": widths,
        "prompt_tokens": {name: [len(suffix) for suffix in parts] for name, parts in turns.items()},
        "groups": groups,
        "passes": {arm: [_plain_values(repeat) for repeat in repeats] for arm, repeats in passes.items()},
    }
    print(_write(document))


def _prompts(options: argparse.Namespace) -> tuple[Turns, frozenset[int]]:
    """The suffixes of every chosen conversation, and the ids that would end a turn."""
    checkpoint = load_checkpoint(options.model, device=torch.device("cpu"))
    chosen = [one for one in CONVERSATIONS if one.category in options.categories]
    turns = {one.name: suffixes(checkpoint.tokenizer, one.messages[: options.turns]) for one in chosen}
    return turns, checkpoint.stop_ids


def _draft_model(options: argparse.Namespace, stack: ExitStack) -> str:
    """The reference for `model-K`: the given one, or a stand-in in a folder that lives as long as `stack`."""
    if options.draft_model or all(name.kind != "model" for name in options.arms):
        return str(options.draft_model)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="draftscope-bench-")))
    return str(build_stand_in(options.model, options.stand_in_layers, folder / "stand-in"))


def _rows(turns: Turns, new: int) -> int:
    """Rows that the longest conversation needs."""
    return max(sum(map(len, parts)) + new * len(parts) for parts in turns.values()) + 8


def _peaks(options: argparse.Namespace, settings: ArmSettings, turns: Turns) -> dict[str, int]:
    """Peak memory by arm, over the conversation with the longest first message."""
    longest = max(turns.values(), key=lambda parts: len(parts[0]))
    print("Peak memory of each arm, in processes of their own")
    return {str(name): peak_memory(name, settings, longest) for name in options.arms}


def _groups(turns: Turns) -> dict[str, list[str]]:
    """Conversations by group: all, those with a long first message, and each category."""
    groups = {"overall": list(turns)}
    long = [name for name, parts in turns.items() if len(parts[0]) >= LONG]
    if long:
        groups["long first message"] = long
    for one in CONVERSATIONS:
        if one.name in turns:
            groups.setdefault(one.category, []).append(one.name)
    return groups


def _past_the_end(passes: Passes, stop_ids: frozenset[int]) -> str:
    """How much of what was decoded stands after the end of a turn, in the first arm."""
    arm, repeats = next(iter(passes.items()))
    turns = [tokens for one in repeats[0].values() for tokens in one.tokens]
    past = sum(
        len(tokens) - next((i for i, t in enumerate(tokens) if t in stop_ids), len(tokens) - 1) - 1 for tokens in turns
    )
    return f"{past} of {sum(map(len, turns))} tokens ({arm}) stand after an end of turn, which no arm stops at."


def _heading(options: argparse.Namespace, place: dict[str, Any], dtype: str, device: str) -> str:
    return (
        f"{options.model}, {dtype} on {device}; {place['processor']}, {place['cores']} cores, {place['threads']} "
        f"threads, OMP_WAIT_POLICY={place['omp_wait_policy']} for every arm; torch {place['torch']}, transformers "
        f"{place['transformers']}, commit {place['commit'] or 'unknown'}; load {place['load_1min']:.1f} before.\n"
        f"{options.turns} turns, {options.new} new tokens each, greedy, {options.repeat} repeats: median (least-most)."
    )


def _notes(options: argparse.Namespace, widths: dict[int, int], past: str) -> str:
    lines = [
        f"Width of a round by most drafts K: {', '.join(f'K={k}: {w}' for k, w in sorted(widths.items()))}."
        if widths
        else "",
        "decode: after the first token of each turn. whole: prompts included. first ms N: time to the first token of "
        "turn N, as a fraction of generate's. predicted: tokens per round x plain step / round, over plain.",
        past,
    ]
    if any(name.kind == "model" for name in options.arms) and not options.draft_model:
        lines.append(
            f"model-K drafts with a stand-in: the first {options.stand_in_layers} layers of the checkpoint, never "
            "trained to draft. It shows the cost of the machinery, not the gain of a real draft model."
        )
    return "\n".join(line for line in lines if line)


def _plain_values(repeat: dict[str, Pass]) -> dict[str, Any]:
    """One repeat's passes for JSON, turn by turn; the rounds one by one would be most of the file."""
    return {name: asdict(one) | {"splits": len(one.splits)} for name, one in repeat.items()}


def _write(document: dict[str, Any]) -> str:
    """Save everything as JSON and say where."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"bench-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return f"Written to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}."


if __name__ == "__main__":
    main()
