"""Stop strings in a conversation: never shown, never in the next prompt, and the same for any K, burst and drafter."""

from __future__ import annotations

import itertools

import pytest

from engine import EngineError, SessionStateError, generate_spec_session
from engine.chat import ChatSession
from engine.events import FlushEvent, OvershootEvent, RewindEvent, TurnEvent
from engine.take_back import take_back
from tests.chats import Told, agree, chat_with, collect, forwards, garbage, last
from tests.factories import VOCAB
from tests.forwards import ForwardCounter
from tests.oracle import PlainOracle

ASK, NEXT = "The quick brown fox", "a b c"


@pytest.fixture
def engine(tiny_engine):
    return tiny_engine("llama", max_ctx=512)


@pytest.fixture(scope="module")
def truth(tiny_engine):
    return PlainOracle(tiny_engine("llama", max_ctx=512)).continuation


@pytest.fixture(scope="module")
def whole(tiny_engine):
    """A long answer without stop strings."""
    chat = ChatSession(tiny_engine("llama", max_ctx=512))
    turn = chat.send(ASK, 48)
    chat.session.close()
    return turn


def stops_of(whole) -> dict[str, tuple[str, ...]]:
    """Stop strings that the answer has: of one character and of many, early and late, and a decoy that almost fits."""
    text = whole.text
    return {
        "one character": (next(c for c in text if c.isascii() and text.index(c) > 15),),
        "many tokens": ("nowhere", text[30:47]),
        "two that overlap": (text[24:40], text[28:34]),
        "from the start": (text[:5],),
        "a decoy first": (text[10:16] + "#", text[36:39]),
    }


def end_of(text: str, stops: tuple[str, ...]) -> int:
    """Where the first stop string to complete begins."""
    ends = [(text.find(stop) + len(stop), -len(stop)) for stop in stops if stop in text]
    end, length = min(ends)
    return end + length


def drafters(truth):
    yield "none", 0
    yield "ngram", 7
    yield from ((garbage(VOCAB, truth, seed, right), k) for seed, right, k in ((0, 1.0, 7), (1, 0.9, 4), (2, 0.5, 7)))


@pytest.mark.parametrize(
    "kind", ["one character", "many tokens", "two that overlap", "from the start", "a decoy first"]
)
def test_text_ids_and_next_prompt_depend_on_no_grouping(engine, truth, whole, kind):
    stops = stops_of(whole)[kind]
    end = end_of(whole.text, stops)
    outcomes, causes = set(), set()
    for (drafter, k), burst, overshoot in itertools.product(drafters(truth), (1, 5, 64), ("keep", "trim")):
        chat, deltas = chat_with(engine, drafter, k), []
        turn = chat.send(ASK, 48, burst=burst, stop=stops, overshoot=overshoot, on_tokens=collect(deltas))
        assert (turn.text, turn.reason, turn.hidden) == (whole.text[:end], "stop", [])
        assert "".join(d.text for d in deltas) == turn.text
        assert [t for d in deltas for t in d.tokens] == turn.tokens == whole.tokens[: len(turn.tokens)]
        assert chat.messages[-1]["content"] == turn.text and not chat.can_continue
        assert chat.session.history == chat.session.history[: turn.start] + turn.tokens
        assert last(chat, RewindEvent).cause == "stop"
        agree(chat)
        causes.add(isinstance(list(chat.session.trace)[-1], FlushEvent))
        after = chat.send(NEXT, 6, burst=burst)
        assert last(chat, TurnEvent).decision == "extend"
        outcomes.add((tuple(turn.tokens), turn.text, tuple(chat.session.history[: after.start]), tuple(after.tokens)))
        chat.session.close()
    assert len(outcomes) == 1
    assert causes == ({False} if kind in ("one character", "from the start") else {True, False}), "both ways were taken"


def test_every_forward_is_in_the_trace(engine, whole):
    chat, counter = chat_with(engine, "none"), ForwardCounter(engine)
    chat.send(ASK, 48, stop=stops_of(whole)["many tokens"])
    assert chat.session.trace.of(FlushEvent), "the match spans rounds of one token"
    assert counter.count == forwards(chat)
    chat.send(NEXT, 5)
    assert counter.count == forwards(chat)
    counter.remove()


def test_overshoot_is_accounted_for(engine, truth, whole):
    """What was kept past a burst is shown or dropped, whichever side of the match it lies on."""
    for right, burst in itertools.product((1.0, 0.9), (2, 3, 7)):
        chat = chat_with(engine, garbage(VOCAB, truth, right=right))
        chat.send(ASK, 48, burst=burst, stop=(whole.text[30:33],))
        counts = dict.fromkeys(("kept", "shown", "dropped"), 0)
        for event in chat.session.trace.of(OvershootEvent):
            counts[event.action] += len(event.tokens)
        assert counts["kept"] == counts["shown"] + counts["dropped"] > 0
        chat.session.close()


@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_an_answer_cut_into_turns_stops_where_the_whole_one_does(engine, truth, whole, most):
    """A match may span the turns: what could begin it is not shown at the end of one, and its tokens are taken back."""
    for kind, right in itertools.product(("many tokens", "one character", "a decoy first"), (1.0, 0.8)):
        stops = stops_of(whole)[kind]
        chat = chat_with(engine, garbage(VOCAB, truth, right=right))
        turns, deltas = [chat.send(ASK, most, stop=stops)], []
        while chat.can_continue:
            agree(chat)
            turns.append(chat.continue_turn(most, burst=4, stop=stops, on_tokens=collect(deltas)))
        text = whole.text[: end_of(whole.text, stops)]
        assert "".join(t.text for t in turns) == text == chat.messages[-1]["content"]
        assert "".join(d.text for d in deltas) == "".join(t.text for t in turns[1:])
        assert [t.reason for t in turns] == ["length"] * (len(turns) - 1) + ["stop"]
        assert list(chat._talk.last_answer.ids) == whole.tokens[: len(chat._talk.last_answer.ids)]
        assert chat.session.history[-1:] == list(chat._talk.last_answer.ids)[-1:]
        agree(chat)
        one = chat_with(engine, "none")
        one.send(ASK, 48, stop=stops)
        assert chat.send(NEXT, 5).tokens == one.send(NEXT, 5).tokens
        assert chat.messages == one.messages
        for each in (chat, one):
            each.session.close()


def test_what_was_held_back_is_shown_by_whatever_cannot_complete_it(engine, whole):
    stop = (whole.text[30:47],)
    for most in range(1, 40):  # a budget that ends inside of the match
        chat = chat_with(engine, "none")
        turn = chat.send(ASK, most, stop=stop)
        held = chat._last.held
        if len(held) > 3:
            break
        chat.session.close()
    assert turn.reason == "length" and len(turn.tokens) == most and whole.text.startswith(turn.text + held)
    agree(chat)
    more = chat.continue_turn(1, stop=("nowhere",))
    assert whole.text.startswith(turn.text + more.text) and more.text.startswith(held)
    other = chat_with(engine, "none")
    other.send(ASK, most, stop=stop)
    before = other.messages[-1]["content"]
    other.send(NEXT, 4)
    assert other.messages[1]["content"] == before + held, "a new message ends the wait"
    assert last(other, TurnEvent).decision == "extend"


def test_a_stop_string_in_the_hidden_overshoot_counts_once_it_is_shown(engine, truth, whole):
    for most in range(10, 30):
        chat = chat_with(engine, garbage(VOCAB, truth, right=1.0))
        turn = chat.send(ASK, most)
        hidden = engine.tokenizer.decode(turn.hidden)
        if len(turn.hidden) > 3 and "\ufffd" not in hidden and turn.text.count(hidden[2:4]) == 0:
            break
    before = forwards(chat)
    more = chat.continue_turn(20, stop=(hidden[2:4],))
    assert (more.text, more.reason, forwards(chat)) == (hidden[:2], "stop", before)
    agree(chat)
    assert chat.send(NEXT, 3).tokens


def test_a_stop_string_ends_an_answer_for_good_and_regenerate_begins_it_again(engine, whole):
    chat = chat_with(engine)
    stop = stops_of(whole)["many tokens"]
    turn = chat.send(ASK, 48, stop=stop)
    with pytest.raises(SessionStateError, match="no answer to continue"):
        chat.continue_turn()
    assert chat.regenerate(48, stop=stop).text == turn.text
    agree(chat)
    assert chat.regenerate(48).tokens == whole.tokens
    chat.rewind(chat.rewind_targets[-1].pos)
    assert chat.continue_turn(48, stop=stop).text == turn.text
    assert chat.edit(0, ASK, 48, stop=stop).text == turn.text
    agree(chat)


def test_an_empty_answer_is_an_answer(engine, whole):
    chat = chat_with(engine)
    turn = chat.send(ASK, 48, stop=(whole.text[0],))
    assert (turn.text, turn.tokens, turn.reason) == ("", [], "stop")
    assert chat.messages[-1] == {"role": "assistant", "content": ""}
    assert chat.session.rewind_pos() == len(chat.session.history) == turn.start
    agree(chat)
    assert chat.send(NEXT, 5).tokens and last(chat, TurnEvent).decision == "extend"
    agree(chat)


def test_a_match_inside_a_token_keeps_what_stood_before_it(engine, monkeypatch):
    """The tokenizer has `The` and ` dog`; the part of a token that was shown is text in the next prompt."""
    told = Told(engine, monkeypatch, {"Go": "The quick brown fox jumps over the lazy dog", "On": "yes"})
    pieces = [engine.tokenizer.decode([i]) for i in told.ids("Go")]
    long = next(i for i, piece in enumerate(pieces) if i > 3 and len(piece) > 2)
    stop = pieces[long][2:] + pieces[long + 1]
    shown = "".join(pieces[:long]) + pieces[long][:2]
    for k in (0, 7):
        chat = chat_with(engine, "ngram", k)
        turn = chat.send("Go", 40, stop=(stop,))
        assert (turn.text, turn.tokens) == (shown, told.ids("Go")[:long])
        assert chat._talk.last_answer.rest == pieces[long][:2]
        agree(chat)
        held = len(chat.session.history)
        after = chat.send("On", 9)
        event = last(chat, TurnEvent)
        assert (event.decision, event.reused) == ("extend", held)
        prompt = engine.tokenizer.decode(chat.session.history[: after.start])
        assert f"assistant\n{shown}<|im_end|>\n<|im_start|>user\nOn" in prompt, "the model reads what was shown"
        agree(chat)
        chat.session.close()


def test_an_end_of_turn_lets_out_what_was_held(engine, monkeypatch):
    Told(engine, monkeypatch, {"Go": "one two EN"})
    chat, deltas = chat_with(engine), []
    turn = chat.send("Go", 40, stop=("END",), on_tokens=collect(deltas))
    assert (turn.text, turn.reason) == ("one two EN", "stop")
    assert [t for d in deltas for t in d.tokens] == turn.tokens and turn.tokens[-1] in engine.stop_ids
    agree(chat)
    chat.session.close()


def test_a_callback_that_fails_at_the_match_leaves_the_session_cut(engine, truth, whole):
    chat, seen = chat_with(engine, garbage(VOCAB, truth, right=1.0)), []
    stop = stops_of(whole)["one character"]

    def fail(delta):
        seen.extend(delta.tokens)
        if 1 + chat.session.telem.emitted > len(seen) > 1:  # something of this round was held back: the match
            raise RuntimeError("the page is gone")
        return True

    with pytest.raises(RuntimeError, match="page is gone"):
        chat.send(ASK, 48, burst=3, stop=stop, on_tokens=fail)
    assert chat.messages[-1]["content"] == whole.text[: end_of(whole.text, stop)] and chat.turn.reason == "stop"
    assert seen == chat.turn.tokens
    agree(chat)
    assert chat.send(NEXT, 4).tokens


def test_a_callback_that_fails_between_bursts_leaves_what_was_shown_shown(engine, truth, whole):
    """Without a match: what had passed the burst's size is in the turn all the same, and the token view says so."""
    chat, seen = chat_with(engine, garbage(VOCAB, truth, right=1.0)), []

    def fail(delta):
        seen.extend(delta.tokens)
        if len(seen) > 12:
            raise RuntimeError("the page is gone")
        return True

    with pytest.raises(RuntimeError, match="page is gone"):
        chat.send(ASK, 48, burst=3, on_tokens=fail)
    assert seen == chat.turn.tokens and chat.can_continue
    agree(chat)
    assert seen + chat.continue_turn(48 - len(seen)).tokens == whole.tokens
    agree(chat)


def test_a_forward_that_fails_while_taking_back_leaves_a_session_that_primes(engine, monkeypatch, whole):
    chat = chat_with(engine, "none")
    forward, calls = engine.trunk.forward, []

    def failing(slot, start, tokens, width, keep=()):
        if start < max(calls, default=0):
            raise RuntimeError("the device is gone")
        calls.append(start)
        return forward(slot, start, tokens, width, keep=keep)

    monkeypatch.setattr(engine.trunk, "forward", failing)
    with pytest.raises(RuntimeError, match="device"):
        chat.send(ASK, 48, stop=stops_of(whole)["many tokens"])
    monkeypatch.undo()
    assert chat.session.state == "FAILED"
    chat.send(NEXT, 4)
    assert last(chat, TurnEvent).decision == "prime"


@pytest.mark.parametrize("call", ["send", "regenerate", "edit", "continue_turn"])
@pytest.mark.parametrize(("stop", "says"), [([""], "is empty"), (["x" * 10_000], "10,000 characters"), ("x", "a list")])
def test_unfit_stop_strings_are_refused_before_anything_runs(engine, call, stop, says):
    chat = chat_with(engine)
    chat.send(ASK, 9)
    before = chat.messages, chat.session.history, len(chat.session.trace)
    arguments = {"send": ("x",), "edit": (0, "x")}.get(call, ())
    with pytest.raises(EngineError, match=says):
        getattr(chat, call)(*arguments, stop=stop)
    assert (chat.messages, chat.session.history, len(chat.session.trace)) == before
    chat.session.close()


# -- taking back, by itself --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drafter", ["none", "ngram", "garbage"])
def test_any_length_may_be_taken_back_and_goes_on_as_before(engine, truth, whole, drafter):
    for dropped in range(1, 30, 4):
        chat = chat_with(engine, garbage(VOCAB, truth) if drafter == "garbage" else drafter)
        turn = chat.send(ASK, 30, overshoot="trim")
        session = chat.session
        take_back(session, turn.start + 30 - dropped)
        assert session.history == [*session.history[: turn.start], *whole.tokens[: 30 - dropped]]
        assert session.state == "PREDICTED" and session.next_pred == whole.tokens[30 - dropped]
        assert generate_spec_session(session, [], 8).tokens[:8] == whole.tokens[30 - dropped :][:8]
        session.close()


def test_a_length_that_is_not_there_is_refused(engine):
    session = engine.new_session()
    with pytest.raises(SessionStateError, match="history has 0 tokens"):
        take_back(session, 1)
    chat = chat_with(engine)
    chat.send(ASK, 5)
    for length in (0, -1, len(chat.session.history) + 1):
        with pytest.raises(SessionStateError, match="cannot be kept"):
            take_back(chat.session, length)
