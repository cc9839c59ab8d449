"""Captures: once per width, shared, and when one fails the engine goes on without, saying so once."""

from __future__ import annotations

import warnings

import pytest
import torch

from engine import generate_spec_session, load_engine
from engine.cuda import graphs
from engine.cuda.graphs import Graphs, stand_in
from engine.cuda.static_forward import HEAD, Computed
from engine.events import RoundEvent

CPU = torch.device("cpu")
PROMPT = [5, 9, 14, 30, 7, 5, 9, 14]


def _double(inputs):
    return Computed(inputs.float() * 2, inputs.float() + 1, inputs[:4].clone())


def test_a_replay_reads_the_inputs_of_now_and_leaves_its_results_where_they_were():
    captured = Graphs(CPU)
    captured.record((4, 8), lambda width: _double)
    assert captured.captures == 2 and captured.widths == (4, 8) and 8 in captured and 6 not in captured
    captured.inputs(4).copy_(torch.arange(HEAD + 4))
    first = captured.replay(4)
    assert first.logits.tolist() == [2.0 * i for i in range(7)]
    captured.inputs(4).add_(10)
    second = captured.replay(4)
    assert second.logits is first.logits and first.hidden.tolist() == [11.0 + i for i in range(7)]
    other = captured.replay(8)
    assert other.logits.shape == (11,) and first.logits[0] == 20.0
    with pytest.raises(AssertionError, match="captured once"):
        captured.record((16,), lambda width: _double)
    captured.clear()
    assert captured.widths == ()


def test_a_capture_that_fails_is_warned_of_once_and_nothing_is_used(monkeypatch):
    tried = []

    def capture(work, inputs):
        tried.append(len(inputs) - HEAD)
        if len(tried) == 2:
            raise RuntimeError("operation not permitted when stream is capturing\nSearch for ...")
        return stand_in(work, inputs)

    captured = Graphs(CPU, capture)
    with pytest.warns(RuntimeWarning, match="without graphs, and slower") as warned:
        captured.record((4, 8, 12), lambda width: _double)
    assert len(warned) == 1 and tried == [4, 8] and captured.widths == ()
    assert captured.failure == "capturing CUDA graphs failed (operation not permitted when stream is capturing)"
    with pytest.raises(AssertionError, match="captured once"):
        captured.record((4,), lambda width: _double)


def test_an_engine_without_graphs_gives_the_same_text_and_its_trace_says_so(tiny_checkpoint, path_engine, monkeypatch):
    with_graphs, tried = path_engine("llama"), []

    def capture(work, inputs):
        tried.append(inputs)
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(graphs, "capture_for", lambda device: capture)
    with pytest.warns(RuntimeWarning, match="without graphs"):
        engine = load_engine(
            str(tiny_checkpoint("llama")), device="cpu", max_ctx=256, threads=1, device_path=True, drafter="ngram"
        )
    assert engine.graph_state == ("Forwards run without graphs: capturing CUDA graphs failed (CUDA out of memory.).")
    session, expected = engine.new_session(), with_graphs.new_session("ngram")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in (session, expected):
            reads = one.engine.device_path.reads
            for suffix, new in ((PROMPT, 25), ([], 9), ([3, 4], 9)):
                generate_spec_session(one, suffix, new, ignore_eos=True)
            assert one.engine.device_path.reads - reads == one.telem.rounds + 2, "still one read a round"
    assert session.history == expected.history and len(tried) == 1
    assert {event.graphed for event in session.trace.of(RoundEvent)} == {False}
    assert {event.graphed for event in expected.trace.of(RoundEvent)} == {True}
    expected.close()
    engine.close()


def test_closing_lets_go_of_graphs_and_rows(tiny_checkpoint):
    engine = load_engine(str(tiny_checkpoint("llama")), device="cpu", max_ctx=64, threads=1, device_path=True)
    path = engine.device_path
    assert engine.memory()["slots"] == path.nbytes > 0
    session = engine.new_session()
    generate_spec_session(session, PROMPT, 3, ignore_eos=True)
    engine.close()
    assert path.graphs.widths == () and path.pool is None
