"""Drafter `model:REF`: the same text, one forward per draft, its rows following the session through everything."""

from __future__ import annotations

import json
import shutil

import pytest

from engine import (
    CheckpointError,
    DrafterMismatch,
    generate_spec_session,
    spec_flush_pending,
    spec_rewind_to_checkpoint,
)
from engine.drafters.model import require_same_tokenizer
from engine.events import DrafterEvent, RoundEvent

PROMPT = [5, 9, 14, 30, 7, 5, 9, 14]


def _right(session) -> bool:
    """Whether every draft was, but where the trunk chose a padding row, which no tokenizer has an id for."""
    known = len(session.engine.tokenizer)
    rounds = session.trace.of(RoundEvent)
    return all(e.accepted == len(e.drafted) or e.bonus >= known for e in rounds)


def _play(session) -> list[list[int]]:
    """A script through every operation that moves rows; what was visible of each burst."""
    shown = []

    def burst(suffix, max_new, **options):
        got = generate_spec_session(session, suffix, max_new, ignore_eos=True, overshoot="trim", **options)
        shown.append(got.tokens)

    burst(PROMPT, 21)
    burst([], 9)
    spec_flush_pending(session)
    burst([40, 41, 42], 13, checkpoint_at=None)
    spec_rewind_to_checkpoint(session)
    burst([], 17)
    spec_rewind_to_checkpoint(session, session.rewind_points()[0])
    burst([50, 51], 19)
    return shown


@pytest.mark.parametrize("draft", ["llama", "qwen2"], ids=["right drafts", "wrong drafts"])
@pytest.mark.parametrize("draft_len", [1, 3, 7])
def test_the_text_is_that_of_plain_decoding(tiny_engine, tiny_checkpoint, draft, draft_len):
    engine = tiny_engine("llama")
    plain, drafted = engine.new_session("none"), engine.new_session(f"model:{tiny_checkpoint(draft)}", draft_len)
    assert _play(plain) == _play(drafted)
    assert drafted.telem.drafted > 0
    rate = drafted.telem.draft_acceptance_rate
    assert rate > 0.7 if draft == "llama" else rate < 0.3
    plain.close()
    drafted.close()


def test_a_draft_of_itself_is_right_until_the_budget_cuts_in(tiny_engine, tiny_checkpoint):
    """Teeth for the row bookkeeping: one stale or shifted row, and a model no longer predicts itself."""
    session = tiny_engine("llama").new_session(f"model:{tiny_checkpoint('llama')}", 5)
    _play(session)
    assert session.telem.accepted > 40 and _right(session)
    session.drafter._rows[-4:] = []  # rows that exist but are thought missing cost a forward, and nothing else
    generate_spec_session(session, [], 12, ignore_eos=True)
    assert _right(session)
    session.close()


def test_one_forward_a_draft_and_one_to_catch_up(tiny_engine, tiny_checkpoint):
    session = tiny_engine("llama").new_session(f"model:{tiny_checkpoint('llama')}", 4)
    generate_spec_session(session, PROMPT, 1, ignore_eos=True)
    for _ in range(4):
        before = session.drafter.forwards
        generate_spec_session(session, [], 1, ignore_eos=True, overshoot="keep")
        drafts = len(session.trace.of(RoundEvent)[-1].drafted)
        assert session.drafter.forwards - before == drafts == 4
    session.close()


def test_changed_in_the_middle_it_catches_up_with_the_session(tiny_engine, tiny_checkpoint):
    session = tiny_engine("llama").new_session("none")
    generate_spec_session(session, PROMPT, 40, ignore_eos=True)
    session.set_drafter(f"model:{tiny_checkpoint('llama')}", 6)
    generate_spec_session(session, [], 30, ignore_eos=True)
    assert session.telem.accepted > 15 and _right(session)
    session.close()


def test_the_model_is_loaded_once_and_the_rows_are_a_session_s_own(tiny_engine, tiny_checkpoint):
    engine = tiny_engine("llama")
    name = f"model:{tiny_checkpoint('llama')}"
    one, two = engine.new_session(name, 3), engine.new_session(name, 3)
    assert one.drafter is not two.drafter and one.drafter._model is two.drafter._model
    alone = _play(engine.new_session(name, 3))
    shown = [[], []]
    for session, suffix in ((one, PROMPT), (two, PROMPT[::-1]), (one, []), (two, []), (one, [7]), (two, [9])):
        got = generate_spec_session(session, suffix, 8, ignore_eos=True, overshoot="trim")
        shown[session is two] += got.tokens
    assert shown[0][:8] == alone[0][:8]
    assert _right(one) and _right(two) and one.telem.accepted and two.telem.accepted
    one.close()
    two.close()


def test_a_shorter_context_only_stops_drafting_and_says_so(tiny_engine, tiny_checkpoint, tmp_path):
    short = tmp_path / "short"
    shutil.copytree(tiny_checkpoint("llama"), short)
    config = json.loads((short / "config.json").read_text())
    (short / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 32}))
    engine = tiny_engine("llama")
    plain, session = engine.new_session("none"), engine.new_session(f"model:{short}", 4)
    for s in (plain, session):
        generate_spec_session(s, PROMPT, 60, ignore_eos=True, overshoot="trim")
    assert session.history == plain.history
    rounds = session.trace.of(RoundEvent)
    assert all(e.pos + len(e.drafted) <= 32 for e in rounds if e.drafted) and any(e.drafted for e in rounds)
    assert [e.action for e in session.trace.of(DrafterEvent)] == ["set", "limit"]
    assert "32 tokens" in session.trace.of(DrafterEvent)[-1].why
    plain.close()
    session.close()


def test_an_evicted_session_gives_its_draft_rows_back_and_drafts_on(tiny_engine, tiny_checkpoint):
    engine = tiny_engine("llama", slots=1)
    session, other = engine.new_session(f"model:{tiny_checkpoint('llama')}", 5), engine.new_session("none")
    generate_spec_session(session, PROMPT, 12, ignore_eos=True)
    assert session.drafter.nbytes > 0 and engine.memory()["draft_weights"] > 0
    generate_spec_session(other, PROMPT, 2, ignore_eos=True)
    assert session.slot is None and session.drafter.nbytes == 0
    generate_spec_session(session, [], 20, ignore_eos=True)
    assert session.telem.accepted > 15 and _right(session)
    session.close()
    other.close()


def test_another_tokenizer_is_refused_with_the_first_differing_id(tiny_engine):
    engine = tiny_engine("llama")
    session = engine.new_session("ngram")
    with pytest.raises(DrafterMismatch, match=r"id \d+ is"):
        session.set_drafter("model:default")
    assert session.drafter.name == "ngram", "nothing changed"
    session.close()


class _Vocabulary:
    def __init__(self, pieces: dict[int, str]) -> None:
        self.pieces = pieces

    def get_vocab(self) -> dict[str, int]:
        return {piece: index for index, piece in self.pieces.items()}


def test_tokenizers_are_compared_piece_by_piece():
    same = _Vocabulary({0: "a", 1: "b", 5: "c"})
    assert require_same_tokenizer(same, _Vocabulary(dict(same.pieces)), "trunk", "draft") == 6
    with pytest.raises(DrafterMismatch, match="id 1 is 'x' there and 'b' here"):
        require_same_tokenizer(same, _Vocabulary({0: "a", 1: "x", 5: "y"}), "trunk", "draft")
    with pytest.raises(DrafterMismatch, match="id 6 is 'd' there and None here"):
        require_same_tokenizer(same, _Vocabulary(same.pieces | {6: "d"}), "trunk", "draft")


@pytest.mark.parametrize("ref", ["model:/nowhere/at/all", "model:not a reference"])
def test_a_reference_that_is_none_is_one_sentence(tiny_engine, ref):
    with pytest.raises(CheckpointError) as caught:
        tiny_engine("llama").new_session(ref)
    assert "\n" not in str(caught.value)


def test_a_draft_model_larger_than_memory_is_refused(tiny_engine, tiny_checkpoint, monkeypatch):
    from engine.checkpoints import load as load_module

    engine = tiny_engine("llama")
    monkeypatch.setattr(load_module, "fits", lambda size, device, free: False)
    with pytest.raises(CheckpointError, match="memory"):
        engine.new_session(f"model:{tiny_checkpoint('gemma')}")
