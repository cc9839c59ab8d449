"""Step mode on a real engine: where a turn waits, what it says, who goes on meanwhile, and how it ends."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from engine import generate_spec_session
from engine.burst import run_burst
from engine.events import RoundEvent
from engine.sampled_burst import rule_for
from engine.sampling import SamplingParams
from playground.stepping import Stepping, Waiting
from playground.worker import Worker
from tests.factories import VOCAB
from tests.scripts import GarbageDrafter

PROMPT = [5, 9, 3, 5, 9, 3, 5]


class Stepped:
    """A turn in step mode on a worker; `next` steps and gives where it waits then, None once it has ended."""

    def __init__(self, engine: Any, pace: Any, **options: Any) -> None:
        self.session = engine.new_session(drafter=options.pop("drafter", "ngram"), draft_len=3)
        self.worker, self.tokens = Worker(), []
        self._arrived, self._at = threading.Semaphore(0), None
        self.gate = Stepping(self.worker, self._changed)
        self.gate.set_pace(pace)
        before = options.pop("before", lambda: None)

        def turn() -> None:
            before()
            burst = run_burst(
                self.session, PROMPT, 8, ignore_eos=True,
                observer=lambda: (lambda stage, step: self.gate.before(stage, step, engine.tokenizer)), **options,
            )  # fmt: skip
            self.tokens = burst.tokens
            self._at = None
            self._arrived.release()

        self.worker.submit("turn", turn)

    def _changed(self, waiting: Waiting | None) -> None:
        if waiting is not None:
            self._at = waiting
            self._arrived.release()

    def where(self) -> Waiting | None:
        assert self._arrived.acquire(timeout=10)
        return self._at

    def next(self) -> Waiting | None:
        self.gate.step()
        return self.where()

    def close(self) -> None:
        self.worker.close()
        self.session.close()


@pytest.fixture
def engine(tiny_engine):
    return tiny_engine("llama")


def plain(engine: Any) -> list[int]:
    session = engine.new_session(drafter="none", draft_len=0)
    tokens = generate_spec_session(session, PROMPT, 8, ignore_eos=True).tokens
    session.close()
    return tokens


@pytest.mark.parametrize("pace", ["stage", "round"])
def test_a_stepped_turn_stops_where_it_says_and_gives_the_same_text(engine, pace):
    turn = Stepped(engine, pace)
    seen, at = [], turn.where()
    while at is not None:
        seen.append(at)
        at = turn.next()
    rounds = turn.session.trace.of(RoundEvent)
    stages = ["draft", "verify", "accept", "commit"] if pace == "stage" else ["draft"]
    assert [waiting.stage for waiting in seen] == stages * len(rounds)
    assert turn.tokens[:8] == plain(engine)[:8]
    if pace == "stage":
        for event, *stops in zip(rounds, seen[1::4], seen[2::4], seen[3::4], strict=True):
            drafted, verified, accepted = (stop.engineer for stop in stops)
            assert (f"drafted {len(event.drafted)}:" in drafted) == bool(event.drafted)
            assert f"width {event.width}" in verified
            assert not event.drafted or f"{event.accepted} of {len(event.drafted)} draft" in accepted
    turn.close()


def test_every_stop_is_told_in_plain_words_at_both_levels(engine):
    guesses = GarbageDrafter(VOCAB, seed=1, right=0.0)
    rule = rule_for(engine.new_session(), SamplingParams(seed=4), "rejection")
    turn = Stepped(engine, "stage", rule=rule, drafter=guesses)
    at, rejected = turn.where(), []
    while at is not None:
        for text in (at.words("engineer"), at.words("student")):
            assert text.endswith(".") and "{" not in text and len(text) < 500
        assert at.engineer != at.student
        rejected += [at.engineer] if "was rejected" in at.engineer else []
        at = turn.next()
    assert rejected and all("u·q ≥ p" in text for text in rejected)
    turn.close()


def test_others_run_while_a_turn_waits(engine):
    turn, done = Stepped(engine, "stage"), threading.Event()
    assert turn.where() is not None
    turn.worker.submit("other", done.set)
    assert done.wait(5)
    turn.close()


def test_running_on_ends_the_waiting(engine):
    turn = Stepped(engine, "stage")
    assert turn.where() is not None
    turn.gate.set_pace("run")
    assert turn.where() is None and turn.tokens[:8] == plain(engine)[:8]
    turn.close()


def test_a_job_that_must_be_alone_lets_a_waiting_turn_run_on(engine):
    turn, loaded = Stepped(engine, "stage"), threading.Event()
    assert turn.where() is not None
    turn.worker.submit("engine", loaded.set, alone=True)
    assert loaded.wait(10) and turn.tokens and not turn.gate.watching
    assert turn.gate.pace == "stage", "the visitor chose it, and the next turn waits again"
    turn.close()


def test_a_turn_that_is_stopped_waits_no_more(engine):
    asked: list[bool] = []
    turn = Stepped(engine, "stage", on_tokens=lambda new: not asked)
    assert turn.where() is not None
    asked.append(True)
    turn.gate.release()
    assert turn.where() is None
    assert len(turn.session.trace.of(RoundEvent)) == 1, "the round that had begun is finished, and no other begins"
    turn.close()
