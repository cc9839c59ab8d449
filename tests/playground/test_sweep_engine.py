"""A sweep on a tiny real engine: the texts are those of plain decoding, and no session is left behind."""

from __future__ import annotations

from playground.race.decoder import EngineDecoder
from playground.settings import Settings
from playground.sweep.options import check_sweep
from playground.sweep.run import file_text, run_of
from playground.sweep.summary import summary_of
from playground.sweep.sweep import Sweep
from playground.sweep.verdict import verdict


def test_a_small_sweep_measures_what_it_says(tiny_engine):
    engine = tiny_engine("llama")
    before = len(engine.slots)
    lines = "The quick brown fox\nA session keeps its rows"
    asked = check_sweep(["ngram"], [2, 5], [], lines, 24, 2, settings=Settings())
    ways: list[int] = []
    sweep = Sweep(1, asked, lambda: engine, EngineDecoder(), lambda: ways.append(len(engine.slots)))
    sweep.work()
    assert sweep.error == "" and sweep.phase == "done"
    run = sweep.run
    assert run is not None and run_of(file_text(run).encode()) == run
    assert run.model.exact and run.machine.threads == 1 and len(ways) == 12
    assert len(engine.slots) == before
    summary = summary_of(run)
    assert [(cell.same, cell.compared) for cell in summary.cells] == [(2, 2), (2, 2)]
    assert all(cell.speed_up is not None and cell.cost is not None for cell in summary.cells)
    assert summary.plain_step_ms is not None and summary.plain_step_ms > 0
    assert len(verdict(summary)) >= 3


def test_a_prompt_that_does_not_fit_is_said(tiny_engine):
    asked = check_sweep(["ngram"], [2], [], "word " * 200, 24, 1, settings=Settings())
    sweep = Sweep(1, asked, lambda: tiny_engine("llama"), EngineDecoder(), lambda: None)
    sweep.work()
    assert sweep.phase == "failed" and "context is full" in sweep.error and sweep.run is None
