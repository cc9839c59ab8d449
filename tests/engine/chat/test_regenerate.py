"""Regenerate, edit and rewind: messages follow the session, and what is kept is never computed again."""

from __future__ import annotations

import pytest

from engine import ContextFull, EngineError, SessionStateError
from engine.chat import ChatSession
from engine.events import ContextEvent, OvershootEvent, PrefillEvent, RewindEvent, TurnEvent
from tests.chats import agree, chat_with, collect, forwards, garbage, last, refuse_poll
from tests.factories import CHATML, VOCAB
from tests.forwards import ForwardCounter
from tests.oracle import PlainOracle

FIRST, SECOND, THIRD = "The quick brown fox", "a b c", "naïve 🙂"


@pytest.fixture
def engine(tiny_engine):
    return tiny_engine("llama", max_ctx=512)


@pytest.fixture(scope="module")
def oracle(tiny_engine):
    return PlainOracle(tiny_engine("llama", max_ctx=512))


@pytest.fixture
def chat(engine, oracle):
    """Two turns with overshoot behind the second, on a drafter that is mostly right."""
    chat = chat_with(engine, garbage(VOCAB, oracle.continuation, right=0.95))
    chat.send(FIRST, 14, burst=5)
    for most in range(9, 30):  # until a round passes the budget
        if chat.send(SECOND, most, burst=5).hidden:
            break
        chat.rewind(chat.rewind_targets[-1].pos)
    assert chat.turn.hidden
    yield chat
    agree(chat)
    chat.session.close()


def prefills(chat: ChatSession) -> list[PrefillEvent]:
    return chat.session.trace.of(PrefillEvent)


def roles(chat: ChatSession) -> list[str]:
    return [message["role"][0] for message in chat.messages]


# -- regenerate --------------------------------------------------------------------------------------------------------


def test_regenerating_computes_nothing_before_the_first_token(chat, engine):
    former, messages, before, counter = chat.turn, chat.messages, forwards(chat), ForwardCounter(engine)
    deltas, done, turns = [], len(prefills(chat)), chat.session.turn

    def watch(delta):
        deltas.append((delta, counter.count))
        return True

    turn = chat.regenerate(len(former.tokens), burst=5, on_tokens=watch)
    counter.remove()
    assert (turn.tokens, turn.text, turn.start) == (former.tokens, former.text, former.start)
    assert turn.origin[0] == "first" and chat.messages == messages
    first = next(count for delta, count in deltas if delta.tokens)
    assert first == 0 and len(prefills(chat)) == done, "the first token comes from the checkpoint's own logits"
    assert counter.count >= forwards(chat) - before > 0, "the oracle's forwards are counted too"
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused, event.prompt_tokens) == ("rewind", former.start, former.start)
    assert event.dropped == len(former.hidden) and "within what the session holds" in event.why
    assert event.turn == chat.session.turn == turns + 1
    agree(chat)


def test_regenerating_drops_the_overshoot_visibly(chat):
    hidden = chat.turn.hidden
    chat.regenerate(3)
    dropped = [e for e in chat.session.trace.of(OvershootEvent) if e.action == "dropped"]
    assert dropped[-1].tokens == tuple(hidden)


def test_a_longer_regeneration_goes_past_the_old_budget_and_can_be_continued(chat, engine):
    plain = ChatSession(engine)
    plain.send(FIRST, 14)
    want = plain.send(SECOND, 60)
    turn = chat.regenerate(20, burst=3)
    more = chat.continue_turn(40)
    assert turn.tokens + more.tokens == want.tokens
    assert chat.messages == plain.messages
    plain.session.close()


def test_regenerating_a_continued_answer_drops_all_of_it(chat):
    chat.continue_turn(7)
    start = chat._talk.last_answer.ids
    turn = chat.regenerate(5)
    assert turn.tokens == list(start[:5]) and list(chat._talk.last_answer.ids) == turn.tokens


def test_regenerating_after_an_eviction_computes_the_rows_again_and_says_so(tiny_engine):
    engine = tiny_engine("llama", max_ctx=512, slots=1)
    chat, other = chat_with(engine), chat_with(engine)
    former = chat.send(FIRST, 20)
    other.send(SECOND, 5)
    assert chat.session.slot is None
    turn = chat.regenerate(20)
    assert turn.tokens == former.tokens
    assert [e.action for e in chat.session.trace.of(ContextEvent)] == ["evicted", "reprimed"]
    again = [e for e in prefills(chat) if e.cause == "reprime"]
    assert sum(e.tokens for e in again) == former.start, "the prompt's rows, the dropped answer's not"
    for one in (chat, other):
        agree(one)
        one.session.close()


def test_regenerating_what_a_new_template_renders_otherwise_primes_and_says_why(chat, engine, monkeypatch):
    monkeypatch.setattr(engine.tokenizer, "chat_template", "A" + CHATML)
    turn = chat.regenerate(5)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused) == ("prime", 0) and "No checkpoint" in event.why
    assert turn.start == event.prompt_tokens and len(chat.messages) == 4


def test_regenerating_in_a_failed_session_primes(chat):
    want = chat.regenerate(6).tokens
    chat.session.failed = True
    assert chat.regenerate(6).tokens == want
    assert last(chat, TurnEvent).decision == "prime" and "trusted" in last(chat, TurnEvent).why


@pytest.mark.parametrize("poll", [1, 2])
def test_a_regeneration_stopped_before_its_first_token_keeps_the_old_answer(chat, engine, poll):
    messages = chat.messages
    turns, points = chat.session.turn, chat.session.rewind_points()
    turn = chat.regenerate(9, on_tokens=refuse_poll(poll))
    assert (turn.reason, turn.tokens) == ("cancelled", [])
    assert chat.messages == messages
    assert (chat.session.turn, chat.session.rewind_points()) == (turns, points)
    assert chat.can_continue == (poll == 1), "after the rewind the answer's rows are gone"
    after, plain = chat.send(THIRD, 9), ChatSession(engine)
    plain.send(FIRST, 14)
    plain.send(SECOND, len(chat._talk.exchanges[1].answer.ids))
    assert plain.send(THIRD, 9).tokens == after.tokens
    assert chat.messages == plain.messages
    plain.session.close()


def test_there_must_be_something_to_answer_again(engine):
    chat = ChatSession(engine)
    for call in (chat.regenerate, chat.continue_turn):
        with pytest.raises(SessionStateError, match="call send"):
            call()
    with pytest.raises(EngineError, match="at least 1"):
        chat.regenerate(0)
    with pytest.raises(SessionStateError, match="no checkpoint to rewind to yet"):
        chat.rewind(4)
    chat.session.close()


# -- edit --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [0, 1])
def test_an_edit_is_the_conversation_that_would_have_been(chat, engine, turn):
    plain = ChatSession(engine)
    if turn:
        plain.send(FIRST, 14)
    want = plain.send(THIRD, 18)
    got = chat.edit(turn, THIRD, 18, burst=4)
    assert (got.tokens, got.text, got.start) == (want.tokens, want.text, want.start)
    assert chat.messages == plain.messages
    assert chat.session.history[: got.start] == plain.session.history[: got.start]
    event = last(chat, TurnEvent)
    assert event.decision == ("rewind" if turn else "prime"), "below the first prompt there is no checkpoint"
    assert [t.turn for t in chat.rewind_targets][-1] == turn
    assert chat.send(SECOND, 5).tokens == plain.send(SECOND, 5).tokens
    plain.session.close()


def test_an_edit_that_changes_nothing_computes_nothing(chat):
    former, done = chat.turn, len(prefills(chat))
    assert chat.edit(1, SECOND, len(former.tokens)).tokens == former.tokens
    assert len(prefills(chat)) == done
    assert last(chat, TurnEvent).reused == former.start


@pytest.mark.parametrize("turn", [2, -1, 10**9, "0", 1.0, None, True])
def test_an_edit_of_a_message_that_does_not_exist_is_one_sentence(chat, turn):
    before = chat.messages, chat.session.history
    with pytest.raises(EngineError, match=r"no user message .* to edit; .*numbered 0 to 1\.") as caught:
        chat.edit(turn, "x")
    assert "\n" not in str(caught.value)
    assert (chat.messages, chat.session.history) == before


def test_edits_are_checked_like_messages(chat, engine):
    before = chat.messages, chat.session.history
    with pytest.raises(EngineError, match="is empty"):
        chat.edit(0, " ")
    with pytest.raises(ContextFull, match="context holds 512"):
        chat.edit(1, "zq" * 400)
    assert (chat.messages, chat.session.history) == before
    with pytest.raises(EngineError, match="there is none yet, so call send"):
        ChatSession(engine).edit(0, "x")


@pytest.mark.parametrize("poll", [1, 2])
def test_an_edit_stopped_before_its_first_token_changes_no_message(chat, poll):
    messages = chat.messages
    assert chat.edit(0, THIRD, 9, on_tokens=refuse_poll(poll)).reason == "cancelled"
    assert chat.messages == messages


# -- rewind ------------------------------------------------------------------------------------------------------------


def test_targets_say_what_the_conversation_is_there(chat):
    targets = chat.rewind_targets
    assert [(t.turn, t.role) for t in targets] == [(0, "header"), (0, "prompt"), (1, "header"), (1, "prompt")]
    assert [t.pos for t in targets] == chat.session.rewind_points()


@pytest.mark.parametrize("again", ["continue_turn", "regenerate"])
@pytest.mark.parametrize("index", [3, 2, 1, 0])
def test_after_a_rewind_continue_and_regenerate_answer_the_last_message(chat, index, again):
    answers = [list(e.answer.ids) for e in chat._talk.exchanges]
    target = chat.rewind_targets[index]
    assert chat.rewind(target.pos) == target.pos == len(chat.session.committed)
    assert roles(chat) == ["u", "a", "u"] if target.turn else ["u"]
    assert (chat.turn, chat.session.state, chat.can_continue) == (None, "PREDICTED", True)
    agree(chat)
    done = len(prefills(chat))
    turn = getattr(chat, again)(len(answers[target.turn]))
    assert turn.tokens == answers[target.turn]
    computed = sum(e.tokens for e in prefills(chat)[done:])
    assert computed == turn.start - target.pos
    assert (computed > 0) == (target.role == "header"), "the header's own ids, and nothing at a prompt's end"
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused, event.why) == ("extend", target.pos, "")
    assert [t.role for t in chat.rewind_targets if t.turn == target.turn] == ["header", "prompt"]


@pytest.mark.parametrize("index", [3, 2, 1, 0])
def test_after_a_rewind_a_new_message_replaces_the_last_one(chat, engine, index):
    target = chat.rewind_targets[index]
    chat.rewind(target.pos)
    turn = chat.send(THIRD, 12)
    plain = ChatSession(engine)
    if target.turn:
        plain.send(FIRST, 14)
    assert plain.send(THIRD, 12).tokens == turn.tokens
    assert chat.messages == plain.messages
    plain.session.close()


def test_a_message_stopped_after_a_rewind_replaces_nothing(chat):
    chat.rewind(chat.rewind_targets[-1].pos)
    messages = chat.messages
    assert chat.send(THIRD, 5, on_tokens=refuse_poll(2)).reason == "cancelled"
    assert chat.messages == messages and chat.can_continue
    assert chat.continue_turn(5).tokens


def test_a_rewind_to_what_is_not_retained_names_what_is(chat):
    before = chat.messages, chat.session.history, chat.turn
    for pos in (0, 1, 10**6, -3, "x", None):
        with pytest.raises(SessionStateError, match="retained ones are at") as caught:
            chat.rewind(pos)
        assert all(str(t.pos) in str(caught.value) for t in chat.rewind_targets)
    assert (chat.messages, chat.session.history, chat.turn) == before


def test_a_rewind_of_evicted_rows_needs_none(tiny_engine):
    engine = tiny_engine("llama", max_ctx=512, slots=1)
    chat, other = chat_with(engine), chat_with(engine)
    answers = [chat.send(FIRST, 12).tokens, chat.send(SECOND, 12).tokens]
    other.send(THIRD, 5)
    done = forwards(chat)
    chat.rewind(chat.rewind_targets[1].pos)
    assert forwards(chat) == done and chat.session.slot is None
    assert chat.continue_turn(12).tokens == answers[0]
    for one in (chat, other):
        agree(one)
        one.session.close()


def test_overshoot_whose_rows_were_evicted_does_not_outlive_a_rewind(chat):
    chat.session.engine.slots.release(chat.session)
    chat.rewind(chat.rewind_targets[-1].pos)
    assert last(chat, RewindEvent).cause == "checkpoint"
    assert chat.turn is None


# -- another system message --------------------------------------------------------------------------------------------


def test_a_new_system_message_is_read_by_the_next_prompt(chat, engine):
    chat.set_system("Be brief.")
    assert chat.messages[0] == {"role": "system", "content": "Be brief."}
    got = chat.send(THIRD, 9)
    event = last(chat, TurnEvent)
    assert (event.decision, event.ours, event.theirs) == ("prime", "u", "s")
    assert engine.tokenizer.decode(chat.session.history[: got.start]).startswith("<|im_start|>system\nBe brief.")
    targets = chat.rewind_targets
    chat.set_system(None)
    assert chat.messages[0]["role"] == "user"
    chat.rewind(targets[-1].pos)
    chat.regenerate(5)
    assert last(chat, TurnEvent).decision == "prime", "the rows at that point had the other system message"


def test_nothing_else_may_run_while_a_turn_runs(chat):
    caught = []

    def meddle(delta):
        for call in (chat.regenerate, lambda: chat.edit(0, "x"), lambda: chat.rewind(1), lambda: chat.set_system("x")):
            with pytest.raises(SessionStateError, match="A turn is running") as error:
                call()
            caught.append(error)
        return True

    deltas = []
    chat.regenerate(4, on_tokens=meddle)
    chat.edit(0, "x", 4, on_tokens=collect(deltas))
    assert len(caught) >= 8 and deltas
