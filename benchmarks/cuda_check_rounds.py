"""Exactness over K, bursts and drafters; synchronisations per round; captures after the first use."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import torch

from benchmarks.cuda_check_models import OracleDrafter, Shape, draft_model, prompt_of
from benchmarks.cuda_check_report import Clock, Report
from engine import Engine, SamplingParams, generate_spec_session, generate_spec_session_sampled
from engine.drafters import Drafter
from engine.drafters.model import ModelDrafter
from engine.events import RoundEvent

DRAFT_LENGTHS = (1, 3, 7)
DRAFTERS = ("none", "ngram", "oracle", "wrong model", "right model")
MODES: dict[str, SamplingParams | None] = {
    "greedy": None,
    "rejection": SamplingParams(temperature=0.8, top_k=50, top_p=0.9, seed=1),
    "coupled": SamplingParams(temperature=0.8, min_p=0.05, seed=1),
}


class Drafters:
    """Makes the drafters of a check; the draft models are built once."""

    def __init__(self, shape: Shape, engine: Engine, text: Sequence[int]) -> None:
        self._shape, self._text = shape, text
        self._models = {
            "wrong model": draft_model(shape, engine, max(1, shape.layers // 4)),
            "right model": draft_model(shape, engine, shape.layers),
        }

    def make(self, name: str) -> str | Drafter:
        """A name that the engine knows, or an object."""
        if name == "oracle":
            return OracleDrafter(self._text, 0.7, self._shape.vocab)
        return ModelDrafter(self._models[name]) if name in self._models else name


def plain_text(engine: Engine, prompt: Sequence[int], new: int) -> list[int]:
    """The engine's own tokens after `prompt`, without drafts."""
    session = engine.new_session("none")
    try:
        return generate_spec_session(session, prompt, new, ignore_eos=True, overshoot="trim").tokens
    finally:
        session.close()


def check_exactness(report: Report, clock: Clock, engine: Engine, shape: Shape, new: int) -> None:
    """Every K, burst size and drafter gives the tokens of plain decoding."""
    prompt = prompt_of(shape, 48)
    text = plain_text(engine, prompt, new)
    report.add("exactness", "distinct tokens in the stream", len(set(text)), ok=len(set(text)) > new // 8)
    report.add("exactness", "the engine's own verdict", engine.exact, ok=engine.exact, note=engine.verdict)
    drafters = Drafters(shape, engine, [*prompt, *text])
    differing, runs = 0, 0
    try:
        for name, draft_len, burst in product(DRAFTERS, DRAFT_LENGTHS, (1, 5, new)):
            clock.check()
            got, accepted = _in_bursts(engine, drafters.make(name), draft_len, prompt, new, burst)
            runs += 1
            if got != text:
                differing += 1
                at = next(i for i, (a, b) in enumerate(zip(got, text, strict=True)) if a != b)
                report.add("exactness", f"{name}, K={draft_len}, bursts of {burst}", at, "th token differs", ok=False)
            elif (draft_len, burst) == (DRAFT_LENGTHS[-1], new):
                report.add("exactness", f"drafts accepted: {name}, K={draft_len}", accepted)
    finally:
        report.add("exactness", "runs", runs, note="K x bursts x drafters")
        if runs:
            report.add("exactness", "runs that differ", differing, ok=not differing)


def _in_bursts(
    engine: Engine, drafter: str | Drafter, draft_len: int, prompt: Sequence[int], new: int, burst: int
) -> tuple[list[int], int]:
    """Tokens in bursts of `burst`, and how many drafts were accepted."""
    session = engine.new_session(drafter, draft_len)
    tokens: list[int] = []
    try:
        while len(tokens) < new:
            suffix, most = ([] if tokens else prompt), min(burst, new - len(tokens))
            tokens += generate_spec_session(session, suffix, most, ignore_eos=True, overshoot="trim").tokens
        return tokens, session.telem.accepted
    finally:
        session.close()


def check_rounds(report: Report, clock: Clock, engine: Engine, shape: Shape, new: int) -> None:
    """Reads and other synchronisations per round in every mode, and that nothing is captured again."""
    path, prompt = engine.device_path, prompt_of(shape, 48)
    report.add("rounds", "on the device path", path is not None, ok=path is not None, note=engine.graph_state)
    if path is None:
        return
    drafters = Drafters(shape, engine, [*prompt, *plain_text(engine, prompt, 2 * new)])
    captures, graphed, rounds, most = path.graphs.captures, 0, 0, 0.0
    for mode, name in product(MODES, DRAFTERS):
        clock.check()
        session = engine.new_session(drafters.make(name), min(5, engine.max_draft_len))
        _burst(session, prompt, new, mode)  # compiles what is left to compile
        before, done = path.reads, session.telem.rounds
        with _synchronisations(engine.trunk.device) as others:
            _burst(session, [], new, mode)
        made = session.telem.rounds - done
        each = (path.reads - before + len(others)) / made
        most = max(most, each)
        where = f"elsewhere: {others[0]}" if others else ""
        report.add("rounds", f"synchronisations a round: {mode}, {name}", each, ok=each == 1, note=where)
        events = session.trace.of(RoundEvent)
        rounds, graphed = rounds + len(events), graphed + sum(event.graphed for event in events)
        session.close()
    report.add("rounds", "most synchronisations a round", most, ok=most == 1)
    report.add("rounds", "captures of the trunk", captures, note=f"widths {engine.widths.rounds}")
    again = path.graphs.captures - captures
    report.add("rounds", "captures after the first use", again, ok=not again)
    report.add("rounds", "share of rounds that replay a graph", graphed / rounds, ok=graphed == rounds)


def _burst(session: Any, suffix: Sequence[int], new: int, mode: str) -> None:
    sampling = MODES[mode]
    if sampling is None:
        generate_spec_session(session, suffix, new, ignore_eos=True)
    else:
        verify = "coupled" if mode == "coupled" else "rejection"
        generate_spec_session_sampled(session, suffix, new, sampling, verify=verify, ignore_eos=True)


@contextmanager
def _synchronisations(device: torch.device) -> Iterator[list[str]]:
    """Inside the block torch's own warnings of an operation that waits for the device are collected."""
    found: list[str] = []
    if device.type != "cuda":
        yield found
        return
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield found
        found += [f"{x.filename}:{x.lineno}" for x in caught if "synchroniz" in str(x.message).lower()]
    finally:
        torch.cuda.set_sync_debug_mode("default")
