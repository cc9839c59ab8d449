"""Templates that rewrite what was generated: the next turn goes back to a checkpoint instead of priming afresh."""

from __future__ import annotations

import pytest

from engine import generate_spec_session
from engine.chat import ChatSession
from engine.events import PrefillEvent, RewindEvent, TurnEvent
from tests.chats import EMPTY_THINKING, HEADER, OPEN_THINKING, THINKING, Told, agree, chat_with, last

ANSWERS = {
    "Hi": "one two",
    "Who?": "a fox",
    "Why?": "because",
}
THOUGHTS = {question: f"<think>\nlet me see\n</think>\n\n{answer}" for question, answer in ANSWERS.items()}
OPEN = {question: text.removeprefix("<think>\n") for question, text in THOUGHTS.items()}
CASES = {
    "earlier thinking is dropped": (THINKING, HEADER, THOUGHTS, "prompt"),
    "the live header opens the thinking": (OPEN_THINKING, HEADER + "<think>\n", OPEN, "header"),
    "the live header has an empty block": (EMPTY_THINKING, HEADER + "<think>\n\n</think>\n\n", ANSWERS, "header"),
}


@pytest.fixture
def engine(tiny_engine):
    return tiny_engine("qwen3", max_ctx=512)


@pytest.fixture(params=CASES, ids=lambda name: name)
def case(request, engine, monkeypatch):
    template, header, answers, role = CASES[request.param]
    monkeypatch.setattr(engine.tokenizer, "chat_template", template)
    told = Told(engine, monkeypatch, answers, header)
    return told, answers, role


@pytest.mark.parametrize("k", [0, 7])
def test_the_next_turn_rewinds_to_a_checkpoint_and_says_so(engine, case, k):
    told, answers, role = case
    chat = chat_with(engine, "ngram", k, "You are a helpful assistant.")
    for number, question in enumerate(ANSWERS):
        targets = chat.rewind_targets
        turn = chat.send(question, 60, burst=4)
        assert turn.tokens == told.ids(question) and turn.text == answers[question]
        agree(chat)
        event = last(chat, TurnEvent)
        computed = sum(e.tokens for e in chat.session.trace.of(PrefillEvent) if e.turn == event.turn)
        assert computed == event.prompt_tokens - event.reused
        if number == 0:
            continue
        point = next(t for t in reversed(targets) if t.role == role)
        assert (event.decision, event.reused) == ("rewind", point.pos)
        assert event.reused <= event.common < event.history
        assert event.why.endswith(f"The rows above checkpoint {point.pos} are dropped.")
        assert (event.ours or event.theirs) and event.ours != event.theirs
        assert last(chat, RewindEvent).cause == "checkpoint"
    prompt = engine.tokenizer.decode(chat.session.history[: chat.turn.start])
    assert "let me see" not in prompt and all(answer in prompt for answer in list(ANSWERS.values())[:-1])
    assert [m["content"] for m in chat.messages[2::2]] == list(answers.values()), "messages keep the thinking"


def test_the_prompt_is_the_one_that_a_fresh_conversation_would_have(engine, case):
    """What the rewinds left in the caches is the prompt, id for id, and nothing else."""
    chat = chat_with(engine)
    turns = [chat.send(question, 60) for question in ANSWERS]
    session = engine.new_session(drafter="none")
    prompt = chat.session.history[: turns[-1].start]
    again = generate_spec_session(session, prompt, len(turns[-1].tokens))
    assert again.tokens == turns[-1].tokens
    session.close()


def test_edit_regenerate_and_rewind_under_such_a_template(engine, case):
    _, answers, _ = case
    chat = chat_with(engine)
    for question in ANSWERS:
        chat.send(question, 60)
    done = len(chat.session.trace.of(PrefillEvent))
    assert chat.regenerate(60).text == answers["Why?"]
    assert len(chat.session.trace.of(PrefillEvent)) == done
    agree(chat)
    assert chat.edit(1, "Why?", 60).text == answers["Why?"]
    assert last(chat, TurnEvent).decision == "rewind"
    agree(chat)
    chat.rewind(chat.rewind_targets[0].pos)
    assert chat.send("Who?", 60).text == answers["Who?"]
    agree(chat)
    assert [m["content"] for m in chat.messages] == ["Who?", answers["Who?"]]


def test_thinking_cut_short_is_continued_and_then_dropped(engine, case):
    _, answers, role = case
    chat = chat_with(engine)
    turns = [chat.send("Hi", 3, burst=2)]
    while chat.can_continue:
        agree(chat)
        turns.append(chat.continue_turn(4))
    assert "".join(turn.text for turn in turns) == answers["Hi"] == chat.messages[-1]["content"]
    targets = chat.rewind_targets
    chat.send("Who?", 60)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused) == ("rewind", next(t.pos for t in targets if t.role == role))


def test_a_stop_string_may_end_the_thinking(engine, monkeypatch):
    monkeypatch.setattr(engine.tokenizer, "chat_template", THINKING)
    Told(engine, monkeypatch, THOUGHTS)
    chat = chat_with(engine)
    turn = chat.send("Hi", 60, stop=("</think>",))
    assert (turn.text, turn.reason) == ("<think>\nlet me see\n", "stop")
    agree(chat)
    chat.send("Who?", 60, stop=("\n\n",))
    assert last(chat, TurnEvent).decision == "extend", "without its end mark the template leaves the thinking alone"
    agree(chat)


def test_the_empty_block_of_a_model_that_really_chooses(tiny_engine, monkeypatch):
    """The same with the model's own choices: turns rewind, and their texts are those of a session primed afresh."""
    engine = tiny_engine("llama", max_ctx=512)
    monkeypatch.setattr(engine.tokenizer, "chat_template", EMPTY_THINKING)
    chat, plain = chat_with(engine), ChatSession(engine)
    for question in ("The quick brown fox", "a b c", "x"):
        got = chat.send(question, 20, burst=6)
        plain.session.failed = bool(plain.messages)  # so that it primes
        assert plain.send(question, 20).tokens == got.tokens
        agree(chat)
    assert [e.decision for e in chat.session.trace.of(TurnEvent)] == ["extend", "rewind", "rewind"]
    assert [e.decision for e in plain.session.trace.of(TurnEvent)] == ["extend", "prime", "prime"]
