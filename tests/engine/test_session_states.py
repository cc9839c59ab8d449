"""Every operation in every state either works or raises the typed error that names the call to make instead."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine import (
    ContextFull,
    DrafterMismatch,
    EngineError,
    SessionStateError,
    generate_spec_session,
    spec_flush_pending,
    spec_rewind_to_checkpoint,
)
from engine.rewind import drop_overshoot, reset
from tests.factories import VOCAB
from tests.scripts import GarbageDrafter

PROMPT = list(range(10, 30))
STATES = ("FRESH", "PENDING", "PREDICTED", "FAILED")


class BrokenDrafter(GarbageDrafter):
    """Dies when it is shown what was committed, which leaves the session half moved."""

    def observe(self, tokens, hidden):
        raise RuntimeError("the drafter lost its cache")


def fail(session):
    """Bring a session to FAILED in the middle of a commit."""
    session.set_drafter(BrokenDrafter(VOCAB), 4)
    with pytest.raises(RuntimeError, match="lost its cache"):
        generate_spec_session(session, [50, 51], 3, ignore_eos=True)
    session.set_drafter("ngram", 4)


def put_in(engine, state):
    """A new session in `state`; PENDING and PREDICTED have gone through one turn."""
    session = engine.new_session(drafter="ngram", draft_len=4)
    if state != "FRESH":
        generate_spec_session(session, PROMPT, 6, ignore_eos=True)
    if state == "PREDICTED":
        spec_flush_pending(session)
    if state == "FAILED":
        fail(session)
    assert session.state == state
    return session


OPERATIONS: dict[str, Callable[..., object]] = {
    "turn": lambda s: generate_spec_session(s, [40, 41, 42], 3, ignore_eos=True),
    "continue": lambda s: generate_spec_session(s, [], 3, ignore_eos=True),
    "flush": spec_flush_pending,
    "rewind": spec_rewind_to_checkpoint,
    "rewind to nowhere": lambda s: spec_rewind_to_checkpoint(s, 3),
    "set drafter": lambda s: s.set_drafter("none", 2),
    "drop too many": lambda s: drop_overshoot(s, 50),
    "reset": reset,
    "close": lambda s: s.close(),
    "read": lambda s: (s.history, s.committed, s.rewind_points(), s.rewind_pos(), s.cache_max_ctx(), list(s.trace)),
}

WORKS = "works"
REFUSED = "refused"
TABLE: dict[str, tuple[str, str, str, str]] = {
    # operation            FRESH    PENDING  PREDICTED FAILED
    "turn": (WORKS, WORKS, WORKS, REFUSED),
    "continue": (REFUSED, WORKS, WORKS, REFUSED),
    "flush": (WORKS, WORKS, WORKS, REFUSED),
    "rewind": (REFUSED, WORKS, WORKS, WORKS),
    "rewind to nowhere": (REFUSED, REFUSED, REFUSED, REFUSED),
    "set drafter": (WORKS, WORKS, WORKS, WORKS),
    "drop too many": (REFUSED, REFUSED, REFUSED, REFUSED),
    "reset": (WORKS, WORKS, WORKS, WORKS),
    "close": (WORKS, WORKS, WORKS, WORKS),
    "read": (WORKS, WORKS, WORKS, WORKS),
}
CELLS = [(op, state, TABLE[op][i]) for op in TABLE for i, state in enumerate(STATES)]


@pytest.mark.parametrize(("operation", "state", "outcome"), CELLS, ids=lambda value: value.replace(" ", "_"))
def test_each_cell_works_or_raises_a_sentence(tiny_engine, operation, state, outcome):
    session = put_in(tiny_engine("llama"), state)
    before = (list(session.committed), session.pending_tok, session.next_pred, session.rewind_points())
    try:
        if outcome == WORKS:
            OPERATIONS[operation](session)
        else:
            with pytest.raises(SessionStateError) as refusal:
                OPERATIONS[operation](session)
            message = str(refusal.value)
            assert message.endswith(".")
            assert len(message.split()) >= 6, message
            after = (list(session.committed), session.pending_tok, session.next_pred, session.rewind_points())
            assert after == before
            assert session.state == state
    finally:
        session.close()


@pytest.mark.parametrize("state", STATES[1:])
def test_after_reset_any_session_takes_a_turn_again(tiny_engine, state):
    engine = tiny_engine("llama")
    fresh = engine.new_session(drafter="none")
    want = generate_spec_session(fresh, PROMPT, 8, ignore_eos=True, overshoot="trim").tokens
    fresh.close()
    session = put_in(engine, state)
    reset(session)
    assert session.state == "FRESH"
    assert generate_spec_session(session, PROMPT, 8, ignore_eos=True, overshoot="trim").tokens == want
    session.close()


def test_a_failed_session_recovers_by_rewinding_and_says_the_same(tiny_engine):
    engine = tiny_engine("llama")
    session = engine.new_session(drafter="none")
    said = generate_spec_session(session, PROMPT, 8, ignore_eos=True).tokens
    fail(session)
    spec_rewind_to_checkpoint(session)
    assert session.state == "PREDICTED"
    assert generate_spec_session(session, [], 8, ignore_eos=True).tokens == said
    session.close()


def test_a_failed_session_is_reprimed_into_the_state_it_failed_in(tiny_engine):
    engine = tiny_engine("llama")
    session = put_in(engine, "FAILED")
    history = session.history
    session.reprime()
    assert session.state in ("PENDING", "PREDICTED")
    assert session.history == history
    plain = engine.new_session(drafter="none")
    want = generate_spec_session(plain, history, 9, ignore_eos=True).tokens
    assert generate_spec_session(session, [], 9, ignore_eos=True, overshoot="trim").tokens == want
    session.close()
    plain.close()


def test_a_closed_session_refuses_everything_but_reading(tiny_engine):
    session = put_in(tiny_engine("llama"), "PENDING")
    history = session.history
    session.close()
    session.close()
    assert session.history == history
    for operation in ("turn", "continue", "flush", "rewind", "reset"):
        with pytest.raises(SessionStateError):
            OPERATIONS[operation](session)


def test_a_call_from_inside_a_burst_is_refused_and_harms_nothing(tiny_engine):
    engine = tiny_engine("llama")
    session = engine.new_session(drafter="ngram", draft_len=4)
    refusals = []

    def meddle(_tokens):
        for operation in ("turn", "continue", "flush", "rewind", "set drafter", "reset"):
            with pytest.raises(SessionStateError):
                OPERATIONS[operation](session)
            refusals.append(operation)
        return True

    said = generate_spec_session(session, PROMPT, 8, ignore_eos=True, overshoot="trim", on_tokens=meddle).tokens
    session.close()
    assert refusals
    calm = engine.new_session(drafter="none")
    assert generate_spec_session(calm, PROMPT, 8, ignore_eos=True, overshoot="trim").tokens == said
    calm.close()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_new": -1}, EngineError),
        ({"suffix": [10**6]}, EngineError),
        ({"suffix": [-1]}, EngineError),
        ({"overshoot": "perhaps"}, EngineError),
        ({"checkpoint_at": 500}, EngineError),
        ({"suffix": PROMPT * 40}, ContextFull),
    ],
    ids=["negative_budget", "id_too_high", "id_negative", "overshoot", "checkpoint", "context"],
)
def test_bad_arguments_get_a_sentence_and_change_nothing(tiny_engine, options, error):
    session = put_in(tiny_engine("llama"), "PENDING")
    before = session.history
    events = len(session.trace)
    arguments = {"suffix": [5, 6], "max_new": 4} | options
    with pytest.raises(error) as refusal:
        generate_spec_session(session, **arguments)
    assert str(refusal.value).endswith(".")
    assert session.history == before
    assert session.state == "PENDING"
    assert {event.kind for event in list(session.trace)[events:]} <= {"error", "context"}
    session.close()


@pytest.mark.parametrize("draft_len", [-1, 8, 100])
def test_a_draft_length_out_of_range_is_refused(tiny_engine, draft_len):
    engine = tiny_engine("llama")
    session = engine.new_session(drafter="ngram", draft_len=4)
    with pytest.raises(DrafterMismatch):
        session.set_drafter("ngram", draft_len)
    with pytest.raises(DrafterMismatch):
        session.set_drafter("guesswork")
    assert session.draft_len == 4
    session.close()
    with pytest.raises(DrafterMismatch):
        engine.new_session(draft_len=draft_len)
