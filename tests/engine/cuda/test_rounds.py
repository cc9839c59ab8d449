"""Rounds on the device path: the CPU's tokens and events, one read a round, nothing captured again."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch

from engine import (
    Engine,
    EngineError,
    SamplingParams,
    generate_spec_session,
    generate_spec_session_sampled,
    spec_flush_pending,
    spec_rewind_to_checkpoint,
)
from engine.cuda import host_read
from engine.events import PrefillEvent, RoundEvent
from engine.round import Round

PROMPT = [5, 9, 14, 30, 7, 5, 9, 14]
MODES = {
    "greedy": (None, "rejection"),
    "greedy, penalties": (SamplingParams(temperature=0.0, repetition_penalty=1.3), "rejection"),
    "rejection": (SamplingParams(temperature=0.9, top_p=0.9, seed=3), "rejection"),
    "rejection, penalties": (SamplingParams(temperature=0.8, top_k=20, frequency_penalty=0.4, seed=4), "rejection"),
    "coupled": (SamplingParams(temperature=0.7, min_p=0.02, seed=5), "coupled"),
    "coupled, penalties": (SamplingParams(temperature=0.9, presence_penalty=0.3, seed=6), "coupled"),
}


def _burst(session, suffix, max_new, mode, **options):
    sampling, verify = MODES[mode]
    if sampling is None:
        return generate_spec_session(session, suffix, max_new, ignore_eos=True, **options)
    return generate_spec_session_sampled(session, suffix, max_new, sampling, verify=verify, ignore_eos=True, **options)


def _play(session, mode):
    """Turns, continuations, a flush and a rewind; what every burst gave."""
    said = [_burst(session, PROMPT, 21, mode).tokens, _burst(session, [], 9, mode).tokens]
    spec_flush_pending(session)
    said.append(_burst(session, [40, 41, 42], 13, mode, overshoot="trim").tokens)
    spec_rewind_to_checkpoint(session)
    said.append(_burst(session, [], 7, mode).tokens)
    return said


def _events(session, *others):
    """The rounds, without clocks and without what says on which way they went."""
    dropped = {"draft_ms", "verify_ms", "accept_ms", "host_ms", "graphed", "seq", "t", *others}
    return [{k: v for k, v in e.to_dict().items() if k not in dropped} for e in session.trace.of(RoundEvent)]


def _drafter(name, tiny_checkpoint):
    return f"model:{tiny_checkpoint(name.removeprefix('model:'))}" if name.startswith("model:") else name


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("drafter", ["none", "ngram", "model:llama", "model:qwen2"])
def test_tokens_and_events_are_the_cpu_path_s(tiny_engine, path_engine, tiny_checkpoint, drafter, mode):
    name = _drafter(drafter, tiny_checkpoint)
    plain, session = tiny_engine("llama").new_session(name, 5), path_engine("llama").new_session(name, 5)
    if mode.startswith("rejection") and drafter.startswith("model:"):
        # the draft model runs two columns wide there, and what it draws from is another number in the last bit
        assert [len(said) > 0 for said in _play(session, mode)] == [True] * 4
        assert any(e.test_q and e.test_q[0] < 1 for e in session.trace.of(RoundEvent))
    else:
        assert _play(plain, mode) == _play(session, mode)
        assert _events(plain) == _events(session)
    assert all(e.graphed for e in session.trace.of(RoundEvent))
    assert not any(e.graphed for e in plain.trace.of(RoundEvent))
    for one in (plain, session):
        one.close()


@contextmanager
def _unreadable():
    """Inside the block a read that is not the one of `host_read` fails: as synchronisation does in torch's error mode.

    Rounds read through `path` alone, so whatever else asks a tensor for a number goes wrong here.
    """
    real = {name: getattr(torch.Tensor, name) for name in ("tolist", "item", "__int__", "__float__", "__bool__")}
    allowed = [False]

    def guard(name):
        def method(self, *args):
            assert allowed[0] or self.numel() == 0, f"a read outside the round's own: {name}"
            return real[name](self, *args)

        return method

    read = host_read.read

    def once(tensors):
        allowed[0] = True
        try:
            return read(tensors)
        finally:
            allowed[0] = False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_read, "read", once)
        for name in real:
            patch.setattr(torch.Tensor, name, guard(name))
        yield


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("drafter", ["none", "ngram", "model:llama"])
@pytest.mark.parametrize("cut", [0.0, 0.02])
def test_a_round_reads_once_and_nothing_else_waits(path_engine, tiny_checkpoint, monkeypatch, drafter, mode, cut):
    engine = path_engine("llama")
    session = engine.new_session(_drafter(drafter, tiny_checkpoint), 5)
    session.draft_cut = cut
    run, rounds = Round.run, []

    def counted(step, before=None):
        reads = engine.device_path.reads
        with _unreadable():
            event = run(step, before)
        rounds.append(engine.device_path.reads - reads)
        return event

    monkeypatch.setattr(Round, "run", counted)
    _burst(session, PROMPT, 12, mode)
    _burst(session, [], 12, mode)
    assert len(rounds) > 3 and set(rounds) == {1}
    session.close()


def test_teeth_a_read_between_the_stages_is_seen(path_engine, monkeypatch):
    engine = path_engine("llama")
    session = engine.new_session("ngram", 3)
    generate_spec_session(session, PROMPT, 1, ignore_eos=True)
    verify = Round.verify

    def peeking(step):
        verify(step)
        assert step._out is not None
        int(step._out.logits[0].argmax())

    monkeypatch.setattr(Round, "verify", peeking)
    with _unreadable(), pytest.raises(AssertionError, match="a read outside"):
        Round(session, frozenset()).run()
    session.close()


def test_a_cut_ends_the_drafts_and_is_counted_as_on_the_cpu(tiny_engine, path_engine, tiny_checkpoint):
    name = f"model:{tiny_checkpoint('llama')}"
    for mode, cut in (("greedy, penalties", 0.02), ("coupled", 0.04)):
        sessions = [engine("llama").new_session(name, 5) for engine in (tiny_engine, path_engine)]
        for session in sessions:
            session.draft_cut = cut
            _play(session, mode)
        lengths = {len(e.drafted) for e in sessions[1].trace.of(RoundEvent)}
        # the width was chosen before the host knew where the drafts end
        assert _events(sessions[0], "width") == _events(sessions[1], "width") and len(lengths) > 2
        for session in sessions:
            session.close()


def test_nothing_is_captured_again_and_sessions_share_what_was(path_engine, tiny_checkpoint):
    engine = path_engine("llama")
    name = f"model:{tiny_checkpoint('llama')}"
    engine.make_drafter(name)
    draft_path = engine._draft_models[name].trunk.path
    one, two = engine.new_session(name, 5), engine.new_session(name, 2)
    for session in (one, two, one, two):
        generate_spec_session(session, PROMPT, 11, ignore_eos=True)
        generate_spec_session(session, [], 11, ignore_eos=True)
    assert engine.device_path.graphs.captures == len(engine.widths.rounds) == 2
    assert draft_path.graphs.captures == 1
    assert "graphs captured once, at width 4 or 8" in engine.graph_state
    for session in (one, two):
        session.close()


def test_interleaved_sessions_do_not_see_each_other_s_results(tiny_engine, path_engine):
    """Every session's rounds end in the same static tensors; a tail kept from one round must survive the next one's."""
    alone = [tiny_engine("llama").new_session("ngram", 5) for _ in range(2)]
    together = [path_engine("llama").new_session("ngram", 5) for _ in range(2)]
    for sessions in (alone, together):
        for session, prompt in zip(sessions, (PROMPT, PROMPT[::-1]), strict=True):
            generate_spec_session(session, prompt, 4, ignore_eos=True)
        for session in sessions * 4:
            generate_spec_session(session, [], 3, ignore_eos=True, overshoot="trim")
    for a, b in zip(alone, together, strict=True):
        assert a.history == b.history and a.tail.tokens == b.tail.tokens
        assert torch.equal(a.tail.logits, b.tail.logits) and torch.equal(a.last_h, b.last_h)
    for session in (*alone, *together):
        session.close()


def test_engines_that_share_a_model_do_not_disturb_each_other(path_engine, tiny_engine):
    first = path_engine("llama")
    options = {"drafter": "ngram", "max_ctx": 128, "slots": 1, "threads": 1}
    second = Engine(first.checkpoint, device_path=True, max_draft_len=3, draft_len=3, **options)
    third = Engine(first.checkpoint, device_path=False, **options)
    sessions = [engine.new_session("ngram") for engine in (first, second, third, tiny_engine("llama"))]
    for session in sessions:
        generate_spec_session(session, PROMPT, 12, ignore_eos=True, overshoot="trim")
    for session in sessions:
        generate_spec_session(session, [], 12, ignore_eos=True, overshoot="trim")
    assert len({tuple(session.history) for session in sessions}) == 1
    assert third.device_path is None and second.device_path is not None
    for session in sessions:
        session.close()


def test_an_evicted_session_comes_back_bit_for_bit(tiny_engine, path_engine):
    engine, plain = path_engine("mistral", slots=1), tiny_engine("mistral").new_session("ngram")
    first, second = engine.new_session("ngram"), engine.new_session("ngram")
    for session in (first, plain):
        generate_spec_session(session, PROMPT, 30, ignore_eos=True)
    generate_spec_session(second, PROMPT[::-1], 40, ignore_eos=True)
    assert first.slot is None
    for session in (first, plain):
        generate_spec_session(session, [], 20, ignore_eos=True)
    assert first.history == plain.history
    assert any(e.cause == "reprime" for e in first.trace.of(PrefillEvent))
    length = len(first.committed)
    for ours, theirs in zip(first.slot.slot_layers, plain.slot.slot_layers, strict=True):
        assert torch.equal(ours.keys[:, :length], theirs.keys[:, :length])
    for session in (first, second, plain):
        session.close()


@pytest.mark.parametrize("who", ["trunk", "draft model"])
def test_a_forward_that_is_not_finite_leaves_the_state_before_it(tiny_checkpoint, path_engine, who):
    engine = path_engine("llama")
    name = f"model:{tiny_checkpoint('llama')}"
    session = engine.new_session(name, 4)
    generate_spec_session(session, PROMPT, 6, ignore_eos=True)
    model = engine.trunk.model if who == "trunk" else engine._draft_models[name].trunk.model
    before = (session.history, session.state, session.slot.length)
    norm = model.get_decoder().layers[1].input_layernorm.weight
    kept = norm.detach().clone()
    with torch.no_grad():
        norm[3] = float("nan")
    with pytest.raises(EngineError, match="not a number"):
        generate_spec_session(session, [], 4, ignore_eos=True)
    with torch.no_grad():
        norm.copy_(kept)
    assert (session.history, session.state, session.slot.length) == before
    twin = engine.new_session("none")
    generate_spec_session(twin, PROMPT, 30, ignore_eos=True)
    generate_spec_session(session, [], 12, ignore_eos=True)
    assert len(session.history) >= len(PROMPT) + 18 and session.telem.accepted > 4
    assert session.history[: len(PROMPT) + 18] == twin.history[: len(PROMPT) + 18]
    for one in (session, twin):
        one.close()
