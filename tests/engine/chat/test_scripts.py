"""Ten chats that each edit, regenerate, continue and rewind under a thinking template: all agrees, whatever drafts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from engine import check_exact
from engine.chat import ChatSession
from engine.events import ContextEvent, TurnEvent
from tests.chats import EMPTY_THINKING, OPEN_THINKING, THINKING, agree, chat_with, forwards, garbage
from tests.factories import VOCAB
from tests.forwards import ForwardCounter
from tests.oracle import PlainOracle

SAID = ["The quick brown fox", "a b c", "naïve 🙂", "x", "Are you?", "1 2 3", "zzz"]
MARK = "h"
"""Stands for the end of the thinking: the tiny model says it often."""
TEMPLATES = [template.replace("'</think>'", f"'{MARK}'") for template in (THINKING, OPEN_THINKING, EMPTY_THINKING)]
STOPS = [(), (), ("fo", "is"), (" ", "~B"), ("hWh", "nowhere")]


@dataclass(frozen=True)
class Step:
    """One call; `which` picks the message of an edit and the point of a rewind."""

    call: str
    text: str
    most: int
    which: float
    stop: tuple[str, ...]


def script(seed: int) -> list[Step]:
    """Every call at least once, the rest at random."""
    rng = random.Random(seed)
    calls = ["send", "send", "edit", "regenerate", "continue", "rewind", "continue"]
    calls += rng.choices(["send", "edit", "regenerate", "continue", "rewind"], k=5)
    head, tail = calls[:1], calls[1:]
    rng.shuffle(tail)
    return [Step(c, rng.choice(SAID), rng.randint(3, 18), rng.random(), rng.choice(STOPS)) for c in head + tail]


def play(chat: ChatSession, steps: list[Step], burst: int, overshoot: str) -> Iterator[Any]:
    """Run the steps; after each, everything that does not depend on grouping or drafts."""
    for step in steps:
        options: dict[str, Any] = {"burst": burst, "overshoot": overshoot, "stop": step.stop}
        turn = None
        if step.call == "send" or not chat._talk.exchanges:
            turn = chat.send(step.text, step.most, **options)
        elif step.call == "edit":
            turn = chat.edit(int(step.which * len(chat._talk.exchanges)), step.text, step.most, **options)
        elif step.call == "regenerate":
            turn = chat.regenerate(step.most, **options)
        elif step.call == "rewind":
            targets = chat.rewind_targets
            chat.rewind(targets[int(step.which * len(targets))].pos)
        elif chat.can_continue:
            turn = chat.continue_turn(step.most, **options)
        agree(chat)
        shown = None if turn is None else (turn.text, turn.tokens, turn.reason, turn.start)
        history = None if turn is None else chat.session.history[: turn.start + len(turn.tokens)]
        targets = [(target.pos, target.turn, target.role) for target in chat.rewind_targets]
        yield shown, chat.messages, chat.can_continue, history, targets


@pytest.fixture(scope="module")
def oracles():
    return {}


@pytest.mark.parametrize("seed", range(10))
def test_a_chat_depends_on_nothing_but_what_was_said(tiny_engine, monkeypatch, oracles, seed):
    engine = tiny_engine("llama", max_ctx=512)
    truth = oracles.setdefault("llama", PlainOracle(engine)).continuation
    monkeypatch.setattr(engine.tokenizer, "chat_template", TEMPLATES[seed % 3])
    steps = script(seed)
    plain = chat_with(engine, "none", 0)
    want = list(play(plain, steps, 64, "keep"))
    variants: list[tuple[Any, int, int, str]] = [
        ("none", 0, 3, "trim"),
        ("ngram", 7, 5, "keep"),
        ("ngram", 3, 1, "keep"),
        (garbage(VOCAB, truth, seed, 1.0), 7, 4, "keep"),
        (garbage(VOCAB, truth, seed, 0.9), 7, 64, "keep"),
        (garbage(VOCAB, truth, seed, 0.8), 5, 6, "trim"),
    ]
    for drafter, k, burst, overshoot in variants:
        chat = chat_with(engine, drafter, k)
        for step, expected, got in zip(steps, want, play(chat, steps, burst, overshoot), strict=True):
            assert got == expected, (step, drafter, k, burst)
        decisions = [e.decision for e in chat.session.trace.of(TurnEvent)]
        assert decisions == [e.decision for e in plain.session.trace.of(TurnEvent)], "reuse depends on ids alone"
        chat.session.close()
    assert {"send", "edit", "regenerate", "continue", "rewind"} == {step.call for step in steps}
    plain.session.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_chat_with_the_default_checkpoint_depends_on_nothing_but_what_was_said(default_engine, monkeypatch, seed):
    engine = default_engine
    monkeypatch.setattr(engine.tokenizer, "chat_template", TEMPLATES[seed])
    steps = script(300 + seed)
    plain = chat_with(engine, "none", 0)
    want = list(play(plain, steps, 64, "keep"))
    variants: list[tuple[Any, int, int, str]] = [("ngram", 7, 5, "keep"), ("ngram", 3, 1, "trim")]
    for drafter, k, burst, overshoot in variants:
        chat = chat_with(engine, drafter, k)
        for step, expected, got in zip(steps, want, play(chat, steps, burst, overshoot), strict=True):
            assert got == expected, (step, drafter, k, burst)
        assert check_exact(chat.session).identical
        chat.session.close()
    plain.session.close()


@pytest.mark.parametrize("seed", range(3))
def test_two_chats_in_turn_on_one_slot_are_the_same_two_chats(tiny_engine, monkeypatch, seed):
    """Each step of one evicts the other; rows come back by a visible re-prime, and no text changes."""
    engine = tiny_engine("llama", max_ctx=512, slots=1)
    monkeypatch.setattr(engine.tokenizer, "chat_template", TEMPLATES[seed % 3])
    scripts = [script(100 + seed), script(200 + seed)]
    want = []
    for steps in scripts:
        alone = chat_with(engine, "none", 0)
        want.append(list(play(alone, steps, 64, "keep")))
        alone.session.close()
    truth = PlainOracle(tiny_engine("llama", max_ctx=512)).continuation  # on slots of its own: it evicts nobody
    drafters = ["ngram", garbage(VOCAB, truth, seed, 0.9)]
    chats, counter = [chat_with(engine, drafter) for drafter in drafters], ForwardCounter(engine)
    plays = [play(chat, steps, 5, "keep") for chat, steps in zip(chats, scripts, strict=True)]
    for step in range(len(scripts[0])):
        for which in (0, 1):
            assert next(plays[which]) == want[which][step], (which, scripts[which][step])
    counter.remove()
    assert counter.count == sum(forwards(chat) for chat in chats)
    for chat in chats:
        actions = [event.action for event in chat.session.trace.of(ContextEvent)]
        assert actions.count("evicted") > 3 and actions.count("reprimed") > 3
        chat.session.close()
