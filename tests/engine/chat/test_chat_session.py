"""Conversations: reuse of the caches, streaming, overshoot, stopping and continuing, and what errors leave behind."""

from __future__ import annotations

import itertools
import random

import pytest

from engine.burst import generate_spec_session
from engine.chat import ChatSession
from engine.chat.answer_text import AnswerText
from engine.chat.detokenize import Detokenizer
from engine.chat.turn import TurnRun
from engine.chat.turn_settings import TurnSettings
from engine.errors import ContextFull, EngineError, SessionStateError
from engine.events import BurstEvent, OvershootEvent, PrefillEvent, RoundEvent, TurnEvent
from engine.rewind import drop_overshoot
from tests.factories import CHATML
from tests.oracle import PlainOracle
from tests.scripts import GarbageDrafter

WHOLE = 10_000
MESSAGES = [
    "Hi",
    "yy",
    "Hello",
    "zzz",
    "The dog",
    "x",
    "brown?",
    "Hi you",
    "fox",
    "a b c",
    "naïve",
    "1 2 3",
    "Are you?",
]


def mutated(expression: str) -> str:
    """ChatML with earlier answers rewritten by a Jinja expression over `content`."""
    inner = f"(({expression}) if message['role'] == 'assistant' else content)"
    return (
        CHATML.replace("{{", "{% set content = message['content'] %}{{", 1)
        .replace("message['content']", inner, 2)
        .replace(f"set content = {inner}", "set content = message['content']")
    )


@pytest.fixture
def engine(tiny_engine):
    return tiny_engine("llama", max_ctx=512)


@pytest.fixture(scope="module")
def lengths(tiny_engine):
    """What the tiny Llama answers to each message, by itself: (tokens, reason), at most 80 tokens."""
    found = {}
    for message in MESSAGES:
        chat = ChatSession(tiny_engine("llama", max_ctx=512))
        turn = chat.send(message, 80)
        found[message] = (len(turn.tokens), turn.reason)
        chat.session.close()
    return found


@pytest.fixture
def stops(lengths):
    """A message whose answer ends by itself, neither at once nor late."""
    return next(m for m, (count, reason) in lengths.items() if reason == "stop" and 12 <= count <= 60)


@pytest.fixture
def long(lengths):
    """A message whose answer goes on and on."""
    return next(m for m, (_, reason) in lengths.items() if reason == "length")


@pytest.fixture(scope="session")
def oracles():
    return {}


@pytest.fixture
def truth(engine, oracles):
    """True continuations, for a drafter of every acceptance length."""
    return oracles.setdefault(engine, PlainOracle(engine)).continuation


@pytest.fixture
def chat(engine):
    """A conversation with a drafter that is often right, so that rounds emit from one to eight tokens."""
    return speculating(engine)


def speculating(engine, system: str | None = None, k: int = 7) -> ChatSession:
    chat = ChatSession(engine, system)
    chat.session.set_drafter("ngram", k)
    return chat


def collect(into: list) -> object:
    """An `on_tokens` that keeps every delta."""

    def take(delta):
        into.append(delta)
        return True

    return take


def stop_after(tokens: int) -> object:
    """An `on_tokens` that stops once it has seen so many."""
    seen = 0

    def take(delta):
        nonlocal seen
        seen += len(delta.tokens)
        return seen < tokens

    return take


def refuse_poll(number: int) -> object:
    """An `on_tokens` that says no when called for the `number`th time."""
    calls = itertools.count(1)
    return lambda delta: next(calls) != number


def snapshot(chat: ChatSession) -> tuple:
    session = chat.session
    return (
        chat.messages,
        chat.turn,
        chat.can_continue,
        session.history,
        session.state,
        session.rewind_points(),
        session.telem.to_dict(),
    )


def last(chat: ChatSession, kind: type):
    return chat.session.trace.of(kind)[-1]


def forwards(chat: ChatSession) -> int:
    return len(chat.session.trace.of(RoundEvent)) + len(chat.session.trace.of(PrefillEvent))


# -- one turn ----------------------------------------------------------------------------------------------------------


def test_a_turn_shows_decoded_ids_as_deltas_of_whole_characters(chat, engine, long):
    deltas = []
    turn = chat.send(long, 60, burst=7, on_tokens=collect(deltas))
    decoded = engine.tokenizer.decode(turn.tokens, skip_special_tokens=True)
    assert turn.reason == "length"
    assert len(turn.tokens) == len(turn.origin) == 60
    assert turn.text == decoded or decoded == turn.text + "\ufffd", "all but a character that is not complete yet"
    assert "".join(d.text for d in deltas) == turn.text
    assert [t for d in deltas for t in d.tokens] == turn.tokens
    assert [o for d in deltas for o in d.origin] == turn.origin
    assert turn.origin[0] == "first"
    assert {"draft", "bonus", "correction"} < set(turn.origin)
    assert deltas[0].tokens == [] and deltas[0].text == "", "asked before any forward"
    assert chat.messages == [{"role": "user", "content": long}, {"role": "assistant", "content": turn.text}]
    assert chat.turn is turn
    assert chat.session.history[turn.start :] == turn.tokens + turn.hidden
    assert turn.telem.emitted == len(turn.tokens) + len(turn.hidden) - 1


@pytest.mark.parametrize("overshoot", ["keep", "trim"])
@pytest.mark.parametrize("burst", [1, 3, 7, WHOLE])
@pytest.mark.parametrize("k", [1, 4, 7])
def test_text_does_not_depend_on_bursts_drafts_or_trimming(engine, truth, burst, k, overshoot, stops, long):
    plain = ChatSession(engine)
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, seed=k, truth=truth), k)
    for text, most in ((long, 33), (stops, 40), ("The dog", 5)):
        want = plain.send(text, most, burst=WHOLE)
        got = chat.send(text, most, burst=burst, overshoot=overshoot)
        assert (got.text, got.tokens, got.reason, got.start) == (want.text, want.tokens, want.reason, want.start)
        assert overshoot == "keep" or got.hidden == []
    assert chat.messages == plain.messages


def test_a_stop_id_is_counted_but_not_shown(chat, engine, stops):
    turn = chat.send(stops, 60)
    assert turn.reason == "stop"
    assert turn.tokens[-1] in engine.stop_ids
    assert turn.text == engine.tokenizer.decode(turn.tokens[:-1])
    assert turn.hidden == []
    assert not chat.can_continue
    with pytest.raises(SessionStateError, match="call send"):
        chat.continue_turn()


def test_trimming_wastes_nothing_at_inner_edges(engine, truth, long):
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    chat.send(long, 48, burst=3, overshoot="trim")
    trims = [e for e in chat.session.trace.of(OvershootEvent) if e.action == "trimmed"]
    assert len(trims) <= 1
    bursts = chat.session.trace.of(BurstEvent)
    assert bursts[-1].overshoot == 0
    assert len(bursts) >= 4, "the burst size counts up to the last of them"


def test_a_half_character_before_a_stop_id_is_shown_at_the_end(engine):
    """As U+FFFD, like `decode`; nothing can complete it any more. Before that it is held."""
    half = engine.tokenizer.encode("🙂", add_special_tokens=False)[0]
    for tail, text in (([], ""), (sorted(engine.stop_ids)[:1], "\ufffd")):
        deltas = []
        session = engine.new_session()
        settings = TurnSettings(1 + len(tail), 8, on_tokens=collect(deltas))
        run = TurnRun(session, AnswerText(Detokenizer(engine.tokenizer)), settings, 0)
        run.resume([half, *tail], ["draft", "bonus"][: 1 + len(tail)])
        run.run((), None, None)
        assert run.text == "".join(d.text for d in deltas) == text
        session.close()


# -- the next turn -----------------------------------------------------------------------------------------------------


def test_the_next_turn_extends_the_caches_by_its_own_tokens_only(chat, stops, long):
    first = chat.send(stops, 60)
    held = chat.session.history
    second = chat.send(long, 10)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused, event.common, event.history) == ("extend", len(held), len(held), len(held))
    assert (event.dropped, event.why, event.ours, event.theirs) == (0, "", "", "")
    assert event.prompt_tokens == second.start
    assert chat.session.history[: len(held)] == held
    prefilled = sum(e.tokens for e in chat.session.trace.of(PrefillEvent) if e.turn == 1)
    assert prefilled == event.prompt_tokens - len(held) + 1, "and the carried stop id"
    assert first.start < len(held) < second.start


@pytest.mark.parametrize(
    "expression", ["content.split('u')[-1]", "content[:-1]"], ids=["strips what came first", "trims the end"]
)
def test_a_template_that_rewrites_answers_rewinds_instead_of_priming(engine, monkeypatch, expression, stops):
    chat = speculating(engine, "You are a helpful assistant.")
    monkeypatch.setattr(engine.tokenizer, "chat_template", mutated(expression))
    first = chat.send(stops, 60)
    points = chat.session.rewind_points()
    assert points[-1] == first.start and len(points) == 2, "before the live header and at the prompt's end"
    second = chat.send("The dog", 20)
    event = last(chat, TurnEvent)
    assert event.decision == "rewind"
    assert event.reused == points[-1] <= event.common < event.history
    assert event.why and event.ours
    assert chat.messages[2]["content"] == first.text, "messages keep the answer whole"
    plain = engine.new_session(drafter="none")
    again = generate_spec_session(plain, chat.session.history[: second.start], 20)
    assert again.tokens[: again.visible] == second.tokens
    plain.close()


def test_a_rewritten_header_rewinds_below_it(engine, monkeypatch, stops):
    """A live header that earlier turns do not have: only the checkpoint before it can be used."""
    template = CHATML.replace("assistant\n", "assistant\nthink: ")
    chat = speculating(engine)
    monkeypatch.setattr(engine.tokenizer, "chat_template", template)
    first = chat.send(stops, 60)
    header = chat.session.rewind_points()[0]
    assert header < first.start
    chat.send("The dog", 5)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused) == ("rewind", header)


def test_without_a_usable_checkpoint_the_prompt_is_primed_and_says_why(chat, engine, monkeypatch, stops):
    chat.send(stops, 60)
    monkeypatch.setattr(engine.tokenizer, "chat_template", "A" + CHATML)
    turn = chat.send("The dog", 12)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused, event.common) == ("prime", 0, 0)
    assert event.ours == "<|im_start|>" and event.theirs == "A" and "No checkpoint" in event.why
    plain = engine.new_session(drafter="none")
    again = generate_spec_session(plain, chat.session.history[: turn.start], 12)
    assert again.tokens[: again.visible] == turn.tokens
    plain.close()


# -- overshoot ---------------------------------------------------------------------------------------------------------


def test_the_next_prompt_does_not_depend_on_k(engine, truth, long):
    prompts, dropped = set(), []
    for k in range(8):
        chat = ChatSession(engine)
        chat.session.set_drafter(GarbageDrafter(331, seed=k, right=0.95, truth=truth), k)
        turn = chat.send(long, 21, burst=5)
        shown = chat.session.history[: turn.start] + turn.tokens
        after = chat.send("The dog", 9, burst=5)
        assert chat.session.history[: len(shown)] == shown
        prompts.add(tuple(chat.session.history[: after.start]))
        event = last(chat, TurnEvent)
        assert (event.decision, event.dropped, event.reused) == ("extend", len(turn.hidden), len(shown))
        dropped.append(event.dropped)
    assert len(prompts) == 1
    assert dropped[0] == 0 and max(dropped) > 0, "some K must have overshot"


def test_the_trace_accounts_for_every_token_past_a_burst(engine, truth, long):
    """What inner bursts emit past their size is shown at once, so `kept` less `shown` is what is hidden."""
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=0.95, truth=truth), 7)
    hidden = []
    for most in range(12, 20):
        turn = chat.send(long, most, burst=3)
        counts = dict.fromkeys(("kept", "shown", "dropped"), 0)
        for event in chat.session.trace.of(OvershootEvent):
            counts[event.action] += len(event.tokens)
        hidden.append(len(turn.hidden))
        assert counts["kept"] - counts["shown"] - counts["dropped"] == len(turn.hidden)
        assert counts["shown"] > 0
    assert any(hidden)


def test_a_template_that_cannot_be_taken_apart_still_extends_past_dropped_overshoot(engine, truth, long, monkeypatch):
    spoils_markers = CHATML.replace("message['content']", "message['content'].replace('answer', '')")
    monkeypatch.setattr(engine.tokenizer, "chat_template", spoils_markers)
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    most = next(n for n in range(12, 40) if chat_cuts_cleanly(engine, long, n, truth))
    turn = chat.send(long, most)
    assert turn.hidden
    chat.send("The dog", 3)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused) == ("extend", turn.start + most)


def chat_cuts_cleanly(engine, message, most, truth) -> bool:
    """Whether an answer of `most` tokens ends with a whole character and in the middle of a round."""
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    turn = chat.send(message, most)
    chat.session.close()
    return bool(turn.hidden) and engine.tokenizer.decode(turn.tokens) == turn.text


def test_continuing_shows_the_overshoot_first_and_for_free(engine, truth, long):
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    want = ChatSession(engine).send(long, 40)
    first = chat.send(long, 12)
    assert len(first.hidden) > 3
    before, deltas = forwards(chat), []
    second = chat.continue_turn(3, on_tokens=collect(deltas))
    assert second.tokens == first.hidden[:3] and second.hidden == first.hidden[3:]
    assert (second.reason, second.start) == ("length", first.start + 12)
    assert forwards(chat) == before, "already computed"
    shown = [e for e in chat.session.trace.of(OvershootEvent) if e.action == "shown"]
    assert shown[-1].tokens == tuple(second.tokens)
    third = chat.continue_turn(25, burst=4)
    assert third.tokens[: len(second.hidden)] == second.hidden
    assert first.tokens + second.tokens + third.tokens == want.tokens
    assert first.origin[1:] + second.origin + third.origin == [o for o in chat_origins(chat) if o != "first"][:39]
    assert chat.messages[-1]["content"] == first.text + second.text + third.text == want.text
    assert len(chat.messages) == 2


def chat_origins(chat: ChatSession) -> list[str]:
    """Origins as the rounds of the trace tell them."""
    out = []
    for event in chat.session.trace.of(RoundEvent):
        out += ["draft"] * event.accepted
        if event.bonus is not None:
            out.append("correction" if event.correction else "bonus")
    return out


@pytest.mark.parametrize("most", [1, 2, 5, 9])
def test_any_cut_of_an_answer_joins_to_the_whole_and_ends_by_its_stop_id(engine, truth, most, stops, long):
    """Stop ids inside hidden overshoot included: they end the answer when they are shown, not before."""
    whole = ChatSession(engine).send(stops, 60)
    for seed in range(3):
        chat = ChatSession(engine)
        chat.session.set_drafter(GarbageDrafter(331, seed=seed, right=0.9, truth=truth), 7)
        turns = [chat.send(stops, most)]
        while chat.can_continue:
            turns.append(chat.continue_turn(most, burst=4))
        assert [t for turn in turns for t in turn.tokens] == whole.tokens
        assert [t.reason for t in turns] == ["length"] * (len(turns) - 1) + ["stop"]
        assert len(turns) == -(-len(whole.tokens) // most)
        assert chat.messages[-1]["content"] == "".join(t.text for t in turns) == whole.text
        chat.send(long, 3)
        assert last(chat, TurnEvent).decision == "extend"


def test_overshoot_whose_round_is_gone_is_dropped_by_comparing_ids(tiny_engine, truth, long):
    """With one slot, another conversation takes the rows; nothing is left to take tokens back with."""
    engine = tiny_engine("llama", max_ctx=512, slots=1)
    texts = []
    for evict in (False, True):
        chat = ChatSession(engine)
        chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
        turn = chat.send(long, 12)
        assert turn.hidden
        if evict:
            ChatSession(engine).send("Other", 3)
            chat.session.reprime()
            with pytest.raises(SessionStateError):
                drop_overshoot(chat.session, len(turn.hidden))
        texts.append(chat.send("The dog", 9).text)
        assert last(chat, TurnEvent).dropped == len(turn.hidden)
        assert last(chat, TurnEvent).decision == ("rewind" if evict else "extend")
    assert texts[0] == texts[1]


# -- stopping ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("overshoot", ["keep", "trim"])
def test_stopping_and_continuing_gives_the_uninterrupted_text(engine, truth, overshoot, stops, long):
    whole = ChatSession(engine).send(long, 40)
    for after in (1, 2, 9, 17):
        chat = ChatSession(engine)
        chat.session.set_drafter(GarbageDrafter(331, seed=after, truth=truth), 7)
        turn = chat.send(long, 40, burst=6, on_tokens=stop_after(after), overshoot=overshoot)
        assert turn.reason == "cancelled"
        assert after <= len(turn.tokens) < after + 8, "it stops at the round edge"
        assert chat.can_continue
        rest = chat.continue_turn(40 - len(turn.tokens), burst=6)
        assert turn.tokens + rest.tokens == whole.tokens
        assert chat.messages[-1]["content"] == turn.text + rest.text == whole.text


def test_a_turn_stopped_before_its_first_token_leaves_nothing(chat, engine, long, monkeypatch):
    """Before any forward, at the burst's entry, and between the chunks of a prefill."""
    monkeypatch.setattr(engine, "prefill_chunk", 32)  # so that the message takes several
    chat.send(long, 20)
    before = snapshot(chat)
    message = "The quick brown fox. " * 12
    for poll in (1, 2, 3, 4):
        turn = chat.send(message, 10, on_tokens=refuse_poll(poll))
        assert (turn.reason, turn.tokens, turn.text) == ("cancelled", [], "")
        assert chat.turn.tokens == before[1].tokens
        assert chat.messages == before[0]
        assert chat.session.history[: len(before[3])][: len(chat.session.history)] == chat.session.history
        assert chat.can_continue
    fresh = ChatSession(engine)
    fresh.send(long, 20)
    assert chat.send(message, 10).tokens == fresh.send(message, 10).tokens
    assert chat.messages == fresh.messages


def test_stopping_at_the_first_poll_keeps_the_overshoot(engine, truth, long):
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    turn = chat.send(long, 12)
    before = snapshot(chat)
    chat.send("The dog", 5, on_tokens=refuse_poll(1))
    chat.continue_turn(5, on_tokens=refuse_poll(1))
    assert snapshot(chat) == before
    assert chat.continue_turn(2).tokens == turn.hidden[:2]


def test_an_answer_can_still_be_continued_after_a_message_that_was_stopped(engine, truth, long):
    """The message had dropped the overshoot by then; it is computed again, to the same tokens."""
    whole = ChatSession(engine).send(long, 30)
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    turn = chat.send(long, 12)
    assert turn.hidden
    chat.send("The dog", 5, on_tokens=refuse_poll(2))
    assert chat.turn.hidden == []
    assert chat.session.state == "PREDICTED"
    assert turn.tokens + chat.continue_turn(18).tokens == whole.tokens


def test_a_rewound_prompt_that_was_stopped_cannot_be_continued(engine, monkeypatch, long):
    chat = speculating(engine)
    monkeypatch.setattr(engine.tokenizer, "chat_template", mutated("content[:-1]"))
    chat.send(long, 20)
    assert chat.can_continue
    chat.send("The dog", 5, on_tokens=refuse_poll(2))
    assert not chat.can_continue, "its rows are gone"
    plain = ChatSession(engine)
    plain.send(long, 20)
    assert chat.send("The dog", 9).tokens == plain.send("The dog", 9).tokens


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["callback", "forward"])
def test_an_error_in_the_middle_of_a_turn_loses_nothing(chat, engine, monkeypatch, where, long):
    whole = ChatSession(engine).send(long, 30)
    seen = []

    def fail(delta):
        seen.extend(delta.tokens)
        if len(seen) > 8:
            if where == "callback":
                raise RuntimeError("the page is gone")
            monkeypatch.setattr(engine.trunk, "forward", broken)
        return True

    def broken(*args, **kwargs):
        raise RuntimeError("the device is gone")

    with pytest.raises(RuntimeError, match="is gone"):
        chat.send(long, 30, burst=5, on_tokens=fail)
    monkeypatch.undo()
    assert seen == chat.turn.tokens == whole.tokens[: len(seen)]
    assert chat.messages[-1]["content"] == chat.turn.text
    assert chat.session.history[chat.turn.start :] == seen + chat.turn.hidden
    rest = chat.continue_turn(30 - len(seen))
    assert seen + rest.tokens == whole.tokens
    assert chat.messages[-1]["content"] == whole.text


def test_an_error_before_the_first_token_keeps_no_message(chat, engine, monkeypatch, stops):
    chat.send(stops, 60)
    before = snapshot(chat)

    def broken(*args, **kwargs):
        raise RuntimeError("the device is gone")

    monkeypatch.setattr(engine.trunk, "forward", broken)
    with pytest.raises(RuntimeError, match="device"):
        chat.send("The dog", 5)
    monkeypatch.undo()
    assert snapshot(chat) == before
    chat.send("The dog", 5)


def test_after_caches_became_doubtful_the_next_turn_primes_them(chat, engine, long):
    plain = ChatSession(engine)
    for one in (chat, plain):
        one.send(long, 20)
    chat.session.failed = True
    assert not chat.can_continue
    assert chat.send("The dog", 9).tokens == plain.send("The dog", 9).tokens
    assert last(chat, TurnEvent).decision == "prime"
    assert "trusted" in last(chat, TurnEvent).why


def test_bad_requests_get_a_sentence_and_change_nothing(chat, long):
    chat.send(long, 20)
    before = snapshot(chat)
    for text in ("", "  \n"):
        with pytest.raises(EngineError, match="empty"):
            chat.send(text)
    for bad in ({"max_new": 0}, {"max_new": True}, {"burst": 0}, {"burst": 2.5}):
        with pytest.raises(EngineError, match="at least 1"):
            chat.send("Hello", **bad)
        with pytest.raises(EngineError, match="at least 1"):
            chat.continue_turn(**bad)
    for call in (lambda: chat.send("Hello", overshoot="lose"), lambda: chat.continue_turn(overshoot="lose")):
        with pytest.raises(EngineError, match="overshoot must be 'keep' or 'trim'"):
            call()
    with pytest.raises(EngineError, match="sampling must be SamplingParams"):
        chat.send("Hello", sampling=object())
    with pytest.raises(EngineError, match="verify"):
        chat.send("Hello", verify="hope")
    assert snapshot(chat) == before


def test_a_message_that_does_not_fit_changes_nothing(engine, truth, long):
    chat = ChatSession(engine)
    chat.session.set_drafter(GarbageDrafter(331, right=1.0, truth=truth), 7)
    turn = chat.send(long, 12)
    assert turn.hidden
    before = snapshot(chat)
    with pytest.raises(ContextFull, match=r"has \d+ tokens, and the context holds 512; shorten") as caught:
        chat.send("zq" * 400, 5)
    assert caught.value.needed > caught.value.max_ctx == 512
    assert snapshot(chat) == before
    assert chat.continue_turn(2).tokens == turn.hidden[:2]


@pytest.mark.parametrize("burst", [1, 5, WHOLE])
def test_the_context_ending_ends_the_turn_and_then_refuses_messages(tiny_engine, burst, long):
    engine = tiny_engine("llama", max_ctx=64)
    chat = speculating(engine)
    turn = chat.send(long, 200, burst=burst)
    assert turn.reason == "context"
    assert turn.start + len(turn.tokens) == 65, "the last token needs no row"
    assert turn.text == engine.tokenizer.decode(turn.tokens, skip_special_tokens=True)
    assert not chat.can_continue
    with pytest.raises(ContextFull):
        chat.send("Hello")
    chat.clear()
    assert chat.send(long, 5).tokens == turn.tokens[:5]


def test_one_turn_at_a_time(chat, long):
    caught = []

    def meddle(delta):
        for call in (lambda: chat.send("The dog"), chat.continue_turn, chat.clear):
            with pytest.raises(SessionStateError, match="A turn is running") as error:
                call()
            caught.append(error)
        return True

    turn = chat.send(long, 10, on_tokens=meddle)
    assert len(turn.tokens) == 10 and len(caught) >= 9
    assert len(chat.messages) == 2


def test_a_template_that_refuses_a_system_message_says_so(engine, monkeypatch):
    refusing = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHATML
    monkeypatch.setattr(engine.tokenizer, "chat_template", refusing)
    chat = ChatSession(engine, "Be brief.")
    with pytest.raises(EngineError, match="no system role"):
        chat.send("Hello", 3)
    assert chat.session.state == "FRESH"
    assert ChatSession(engine).send("Hello", 3).tokens


# -- clear, and everything together ------------------------------------------------------------------------------------


def test_clear_keeps_the_system_message_only(engine, long):
    chat = speculating(engine, "You are a helpful assistant.")
    first = chat.send(long, 20)
    rounds = chat.session.telem.rounds
    chat.clear()
    assert chat.messages == [{"role": "system", "content": "You are a helpful assistant."}]
    assert (chat.turn, chat.can_continue, chat.session.history, chat.session.state) == (None, False, [], "FRESH")
    with pytest.raises(SessionStateError, match="call send"):
        chat.continue_turn()
    again = chat.send(long, 20)
    assert (again.tokens, again.text) == (first.tokens, first.text)
    assert chat.session.telem.rounds > rounds, "counters live on"


@pytest.mark.parametrize("seed", range(6))
def test_a_random_conversation_equals_the_plain_one(engine, truth, seed, stops, long):
    """Bursts, K, drafters, trimming, stops and refused polls change from call to call; messages never differ."""
    rng = random.Random(seed)
    plain, chat = ChatSession(engine), ChatSession(engine)
    for step in range(9):
        drafter = rng.choice(["none", "ngram", GarbageDrafter(331, seed=step, right=0.9, truth=truth)])
        chat.session.set_drafter(drafter, rng.randint(0, 7))
        most, burst, mode = rng.randint(1, 24), rng.choice([1, 2, 5, 32]), rng.choice(["keep", "trim"])
        if chat.can_continue and rng.random() < 0.5:
            got = chat.continue_turn(most, burst=burst, on_tokens=stop_after(rng.randint(1, 30)), overshoot=mode)
            want = plain.continue_turn(len(got.tokens), burst=WHOLE)
        else:
            text = rng.choice([stops, long, "The dog", "naïve 🙂", "x"])
            chat.send(text, most, burst=burst, on_tokens=refuse_poll(rng.choice([1, 2])))
            got = chat.send(text, most, burst=burst, on_tokens=stop_after(rng.randint(1, 30)), overshoot=mode)
            want = plain.send(text, len(got.tokens), burst=WHOLE)
        assert (got.tokens, got.text) == (want.tokens, want.text)
        assert (got.reason == "stop") == (want.reason == "stop")
        assert chat.messages == plain.messages
        assert chat.can_continue == plain.can_continue


# -- the default checkpoint --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_turns_with_the_default_checkpoint(default_engine):
    tokenizer = default_engine.tokenizer
    chat, deltas = ChatSession(default_engine), []
    first = chat.send("What is the capital of France?", 40, burst=8, on_tokens=collect(deltas))
    assert "Paris" in first.text and first.reason == "stop"
    assert "".join(d.text for d in deltas) == first.text == tokenizer.decode(first.tokens, skip_special_tokens=True)
    second = chat.send("Repeat that, twice.", 24, burst=8)
    event = last(chat, TurnEvent)
    assert (event.decision, event.reused) == ("extend", event.history)
    prompt = chat.session.history[: second.start]
    assert prompt == tokenizer.apply_chat_template(chat.messages[:3], add_generation_prompt=True, return_dict=False)
    chat.session.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["naïve 🙂👩\u200d👩\u200d👧 日本語 e\u0301", "  two  spaces\n\ttab 2024 🇫🇷", "\ufffd ok"]
)
def test_the_default_tokenizer_streams_unicode(default_engine, text):
    tokenizer = default_engine.tokenizer
    ids = tokenizer.encode(text, add_special_tokens=False)
    stream = Detokenizer(tokenizer, default_engine.stop_ids)
    shown = [stream.push([i]) for i in ids]
    assert "".join(shown) == text
    assert "\ufffd" in text or not any("\ufffd" in piece for piece in shown)


@pytest.mark.slow
def test_the_default_checkpoint_continues_what_was_stopped(default_engine):
    whole = ChatSession(default_engine)
    want = whole.send("Count from one to twenty in words.", 40)
    chat = ChatSession(default_engine)
    turn = chat.send("Count from one to twenty in words.", 40, burst=5, on_tokens=stop_after(9))
    rest = chat.continue_turn(40 - len(turn.tokens))
    assert turn.text + rest.text == want.text == chat.messages[-1]["content"]
    for one in (whole, chat):
        one.session.close()
