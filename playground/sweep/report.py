"""A sweep, and two compared, as a page draws them: plain values ready for JSON."""

from __future__ import annotations

import time
from typing import Any

from playground.names import drafter_label
from playground.sweep.compare import Comparison, compare
from playground.sweep.forecast_words import words
from playground.sweep.library import Listed
from playground.sweep.run import Run
from playground.sweep.summary import Cell, Spread, summary_of
from playground.sweep.sweep import Sweep
from playground.sweep.sweeps import Sweeps
from playground.sweep.verdict import setting, verdict
from playground.wait_words import for_the_engine

WORDS = {
    "preparing": "Warming every setting up with a few tokens that do not count.",
    "measuring": "Measuring: every prompt with every setting in turn.",
    "done": "The sweep is complete.",
    "stopped": "Stopped; this is what was measured so far.",
}


def reading_of(sweeps: Sweeps, sweep: Sweep) -> dict[str, Any]:
    """How far a sweep is, and what it shows so far."""
    ended = sweep.ended  # before the rest: what comes in between is told next time
    run, left = sweep.run, sweep.seconds_left
    return {
        "number": sweep.number,
        "ended": ended,
        "failed": sweep.phase == "failed",
        "says": sweep.error or WORDS.get(sweep.phase) or _waiting(sweeps, sweep),
        "kept": sweep.kept if ended else "",
        "done": len(sweep.passes),
        "total": sweep.options.passes,
        "left": None if ended or left is None else round(left),
        "report": None if run is None else report_of(run),
    }


def report_of(run: Run) -> dict[str, Any]:
    """Everything that is drawn of a run."""
    summary = summary_of(run)
    best = summary.best
    return {
        "id": run.id,
        "title": title_of(run),
        "facts": _facts(run),
        "verdict": verdict(summary),
        "drafters": [[name, drafter_label(name)] for name in run.drafters],
        "lengths": run.lengths,
        "plain": {"rate": _spread(summary.plain_rate), "step_ms": summary.plain_step_ms},
        "cells": [_cell(cell, best) for cell in summary.cells],
        "categories": list(summary.categories),
        "forecasts": [words(name, model, run.lengths) for name, model in summary.forecasts.items()],
    }


def comparison_of(before: Run, after: Run) -> dict[str, Any]:
    """Two runs, cell by cell."""
    result: Comparison = compare(before, after)
    return {
        "before": title_of(before),
        "after": title_of(after),
        "drafters": [[name, drafter_label(name)] for name in dict.fromkeys(c.drafter for c in result.changes)],
        "lengths": sorted({change.draft_len for change in result.changes}),
        "changes": [
            {
                "drafter": change.drafter,
                "k": change.draft_len,
                "before": change.before,
                "after": change.after,
                "difference": change.difference,
                "apart": change.apart,
            }
            for change in result.changes
        ],
        "notes": list(result.notes),
    }


def line_of(listed: Listed) -> dict[str, Any]:
    """One line of the list of runs."""
    run = listed.run
    best = summary_of(run).best
    told = "" if best is None or best.speed_up is None else f"{best.speed_up.median:.2f}×, {setting(best)}"
    return {
        "id": run.id,
        "title": title_of(run),
        "model": run.model.name,
        "best": told,
        "complete": run.complete,
        "saved": listed.saved,
    }


def title_of(run: Run) -> str:
    """Its name, or its date in this machine's time."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created))
    return f"{run.name}, {when}" if run.name else when


def _facts(run: Run) -> str:
    machine, model = run.machine, run.model
    parts = [
        f"{model.name}, {model.dtype} on {model.device}",
        machine.gpu or machine.processor or "unknown processor",
        _count(machine.threads, "thread"),
        ", ".join(f"{name} {version}" for name, version in run.versions.items()),
        f"{_count(len(run.prompts), 'prompt')}, {_count(run.repeats, 'repeat')}",
        f"at most {run.max_new} new tokens, greedy",
        "" if run.complete else "not complete",
    ]
    return " · ".join(part for part in parts if part)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def _cell(cell: Cell, best: Cell | None) -> dict[str, Any]:
    cost = cell.cost
    return {
        "drafter": cell.drafter,
        "k": cell.draft_len,
        "best": cell is best,
        "speed_up": _spread(cell.speed_up),
        "rate": _spread(cell.rate),
        "acceptance": cell.acceptance,
        "tokens_per_round": None if cost is None else cost.tokens_per_round,
        "round_ms": None if cost is None else cost.round_ms,
        "break_even": None if cost is None else cost.break_even,
        "foretold": cell.foretold,
        "categories": cell.by_category,
        "same": cell.same,
        "compared": cell.compared,
    }


def _spread(spread: Spread | None) -> list[float] | None:
    return None if spread is None else [spread.median, spread.low, spread.high]


def _waiting(sweeps: Sweeps, sweep: Sweep) -> str:
    return for_the_engine(sweeps.wait_of(sweep))
