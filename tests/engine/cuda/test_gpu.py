"""On a GPU: the capture itself, and that nothing but the one read of a round waits for the device."""

from __future__ import annotations

import pytest
import torch

from engine import SamplingParams, generate_spec_session, generate_spec_session_sampled, load_engine
from engine.cuda import host_read
from engine.round import Round

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
PROMPT = [5, 9, 14, 30, 7, 5, 9, 14]
MODES = {
    "greedy": (None, "rejection"),
    "penalties": (SamplingParams(temperature=0.0, repetition_penalty=1.3), "rejection"),
    "rejection": (SamplingParams(temperature=0.9, top_k=40, top_p=0.9, seed=3), "rejection"),
    "coupled": (SamplingParams(temperature=0.9, top_p=0.9, seed=3), "coupled"),
}


@pytest.fixture(scope="module")
def engine(tiny_checkpoint):
    loaded = load_engine(str(tiny_checkpoint("llama")), device="cuda", dtype="bfloat16", max_ctx=512, slots=2)
    yield loaded
    loaded.close()


def _burst(session, suffix, new, mode):
    sampling, verify = MODES[mode]
    if sampling is None:
        return generate_spec_session(session, suffix, new, ignore_eos=True)
    return generate_spec_session_sampled(session, suffix, new, sampling, verify=verify, ignore_eos=True)


def test_rounds_are_captured(engine):
    assert engine.device_path is not None and "graphs captured once" in engine.graph_state
    assert engine.exact, engine.verdict


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("drafter", ["none", "ngram", "model"])
def test_a_round_synchronises_once(engine, tiny_checkpoint, monkeypatch, drafter, mode):
    name = f"model:{tiny_checkpoint('llama')}" if drafter == "model" else drafter
    session = engine.new_session(name, 5)
    _burst(session, PROMPT, 12, mode)  # compiles what is left to compile
    run, read, reads = Round.run, host_read.read, []

    def strict(step, before=None):
        torch.cuda.set_sync_debug_mode("error")
        try:
            return run(step, before)
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def allowed(tensors):
        torch.cuda.set_sync_debug_mode("default")
        reads.append(len(tensors))
        values = read(tensors)
        torch.cuda.set_sync_debug_mode("error")
        return values

    monkeypatch.setattr(Round, "run", strict)
    monkeypatch.setattr(host_read, "read", allowed)
    before = session.telem.rounds
    _burst(session, [], 24, mode)
    assert len(reads) == session.telem.rounds - before > 2
    session.close()


def test_teeth_a_synchronisation_is_an_error_in_that_mode():
    torch.cuda.set_sync_debug_mode("error")
    try:
        with pytest.raises(RuntimeError, match="synchroniz"):
            torch.ones(2, device="cuda").tolist()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_graph_gives_the_bits_of_the_same_forward_without(engine):
    path, trunk = engine.device_path, engine.trunk
    session = engine.new_session("none")
    generate_spec_session(session, PROMPT, 40, ignore_eos=True)
    start, width = len(session.committed), engine.width
    session.slot.truncate(start)
    graphed = path.forward(session.slot, start, [7, 8, 9], width, keep=range(3))
    own = trunk.new_slot(512)
    for ours, theirs in zip(own.slot_layers, session.slot.slot_layers, strict=True):
        ours.keys.copy_(theirs.keys[:, : own.capacity])
        ours.values.copy_(theirs.values[: own.capacity // 128])
    own.truncate(start)
    eager = path.forward(own, start, [7, 8, 9], width, keep=range(3))
    assert graphed.graphed and not eager.graphed
    assert torch.equal(graphed.logits, eager.logits) and torch.equal(graphed.hidden, eager.hidden)
    session.close()


def test_text_does_not_depend_on_drafter_or_draft_length(engine, tiny_checkpoint):
    texts = set()
    for drafter in ("none", "ngram", f"model:{tiny_checkpoint('llama')}", f"model:{tiny_checkpoint('qwen2')}"):
        for draft_len in (1, 3, 7):
            session = engine.new_session(drafter, draft_len)
            tokens = [
                t
                for _ in range(4)
                for t in generate_spec_session(
                    session, [] if session.committed else PROMPT, 15, ignore_eos=True, overshoot="trim"
                ).tokens
            ]
            texts.add(tuple(tokens))
            session.close()
    assert len(texts) == 1
    assert engine.device_path.graphs.captures == len(engine.widths.rounds)
