"""A conversation between its worker and its viewers: text, Stop, Continue, refusals, errors; nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from engine.errors import ContextFull, DrafterMismatch
from playground.conversation import Conversation
from playground.limits import Refused, TurnOptions
from playground.sentences import BUSY, STOPPED, UNCHANGED, UNEXPECTED
from playground.worker import Worker
from tests.playground.fakes import FakeChat, FakeEngine, fake_check

Make = Callable[..., Conversation]
OPTIONS = TurnOptions(max_new=40)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.fixture
def make(worker: Worker) -> Make:
    def build(**engine: Any) -> Conversation:
        return Conversation("0" * 32, worker, lambda: cast(Any, FakeChat(FakeEngine(**engine))), fake_check)

    return build


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.002)


def test_a_turn_streams_and_settles_on_what_the_engine_says(make: Make) -> None:
    talk = make(pace=0.003, answer=30)
    versions: set[int] = set()
    future = talk.send("hello", OPTIONS)
    wait_for(lambda: talk.view().phase == "decoding")
    partial = talk.view().messages
    assert partial[0] == ("user", "hello") and talk.view().running
    while talk.view().running:
        versions.add(talk.view().version)
        time.sleep(0.001)
    turn = future.result(5)
    assert talk.view().messages == (("user", "hello"), ("assistant", turn.text))
    assert turn.text.startswith(partial[1][1]) and turn.reason == "stop"
    assert len(versions) > 3
    outcome = talk.view().outcome
    assert outcome is not None and outcome.tokens == len(turn.tokens) and outcome.tok_s


def test_the_second_of_two_sends_is_refused_and_changes_nothing(make: Make) -> None:
    talk = make(pace=0.005)
    first = talk.send("one", OPTIONS)
    for call in (lambda: talk.send("two", OPTIONS), talk.clear, lambda: talk.continue_turn(OPTIONS)):
        with pytest.raises(Refused, match="already answering"):
            call()
    first.result(5)
    assert [m for m in talk.view().messages if m[0] == "user"] == [("user", "one")]
    assert "not sent" in BUSY


def test_racing_sends_have_one_winner(make: Make) -> None:
    talk = make(pace=0.002)
    barrier, won, lost = threading.Barrier(8), [], []

    def race(number: int) -> None:
        barrier.wait()
        try:
            won.append(talk.send(f"m{number}", OPTIONS))
        except Refused as refused:
            lost.append(str(refused))

    threads = [threading.Thread(target=race, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1 and lost == [BUSY] * 7
    won[0].result(5)
    assert len(talk.view().messages) == 2


def test_stop_ends_within_a_round_and_continue_goes_on(make: Make) -> None:
    talk = make(pace=0.02, answer=400)
    future = talk.send("hello", TurnOptions(max_new=300))
    wait_for(lambda: talk.view().phase == "decoding")
    stopped_at = time.monotonic()
    talk.stop()
    turn = future.result(5)
    assert time.monotonic() - stopped_at < 0.1, "more than a few rounds of 20 ms"
    assert turn.reason == "cancelled" and talk.view().can_continue
    before = talk.view().messages[-1][1]
    more = talk.continue_turn(TurnOptions(max_new=10)).result(5)
    assert talk.view().messages[-1][1].startswith(before) and len(more.tokens) == 10
    assert len(talk.view().messages) == 2


def test_stop_in_the_prompt_gives_the_message_back(make: Make) -> None:
    talk = make(pace=0.02)
    future = talk.send("word " * 1000, OPTIONS)
    wait_for(lambda: talk.view().phase == "prefill")
    talk.stop()
    assert future.result(5).reason == "cancelled"
    assert talk.view().messages == () and talk.view().notice == STOPPED
    assert talk.take_unsent() == "word " * 1000
    assert talk.take_unsent() == ""


def test_stop_while_waiting_for_others_acts_at_once(make: Make, worker: Worker) -> None:
    talk, go = make(), threading.Event()
    worker.submit("someone else", lambda: cast(None, go.wait(5)))
    future = talk.send("hello", OPTIONS)
    assert talk.view().phase == "waiting"
    talk.stop()
    assert not talk.view().running and talk.take_unsent() == "hello"
    with pytest.raises(Refused, match="Stopped before"):
        future.result(0)
    go.set()
    assert len(talk.send("again", OPTIONS).result(5).tokens) == 40


def test_an_engine_error_is_its_sentence_and_the_message_comes_back(make: Make) -> None:
    talk = make()
    talk.send("one", OPTIONS).result(5)
    said = talk.view().messages
    cast(Any, talk.chat).fail = ContextFull("The context is full; clear it.", used=1, needed=9, max_ctx=4)
    with pytest.raises(ContextFull):
        talk.send("one", OPTIONS).result(5)
    assert talk.view().messages == said and talk.view().notice == "The context is full; clear it."
    assert talk.take_unsent() == "one"


def test_an_unexpected_error_is_never_shown_raw(make: Make) -> None:
    talk = make()
    talk.send("one", OPTIONS).result(5)
    cast(Any, talk.chat).fail = ZeroDivisionError("secret path /home/someone")
    with pytest.raises(Refused) as caught:
        talk.send("two", OPTIONS).result(5)
    assert str(caught.value) == talk.view().notice == UNEXPECTED
    assert not talk.view().running and talk.take_unsent() == "two"


def test_drafter_and_length_reach_the_session_and_a_mismatch_is_a_sentence(make: Make) -> None:
    talk = make()
    talk.send("one", TurnOptions(drafter="none", draft_len=3)).result(5)
    session = cast(Any, talk.chat).session
    assert (session.drafter.name, session.draft_len) == ("none", 3)
    with pytest.raises(DrafterMismatch):
        talk.send("two", TurnOptions(drafter="model:other")).result(5)
    assert "does not fit" in talk.view().notice and talk.take_unsent() == "two"
    talk.send("two", TurnOptions(drafter="none", draft_len=3)).result(5)


def test_continue_needs_an_unfinished_answer(make: Make) -> None:
    talk = make(answer=5)
    with pytest.raises(Refused, match="no unfinished answer"):
        talk.continue_turn(OPTIONS)
    talk.send("one", OPTIONS).result(5)
    with pytest.raises(Refused, match="no unfinished answer"):
        talk.continue_turn(OPTIONS)


def test_clear_forgets_messages_and_rewind_needs_a_point(make: Make) -> None:
    talk = make()
    with pytest.raises(Refused, match="no rewind point yet"):
        talk.rewind(3).result(5)
    talk.send("one two three", OPTIONS).result(5)
    assert talk.rewind(3).result(5) == 3
    assert talk.view().messages == (("user", "one two three"),)
    talk.clear().result(5)
    assert talk.view().messages == () and talk.view().outcome is None


def test_regenerate_and_edit_show_at_once_what_goes_and_settle_on_the_engine(make: Make) -> None:
    talk = make(pace=0.01, answer=20)
    for message in ("one", "two"):
        talk.send(message, OPTIONS).result(5)
    future = talk.regenerate(OPTIONS)
    assert talk.view().messages[2:] == (("user", "two"), ("assistant", "")) and talk.view().running
    assert talk.view().messages[:3] == (*talk.view().messages[:2], ("user", "two"))
    assert talk.view().messages[-1][1] in ("", future.result(5).text)
    future = talk.edit(0, "three", OPTIONS)
    assert talk.view().messages == (("user", "three"), ("assistant", ""))
    turn = future.result(5)
    assert talk.view().messages == (("user", "three"), ("assistant", turn.text))


def test_after_a_rewind_continue_answers_and_a_message_replaces(make: Make) -> None:
    talk = make(answer=5)
    talk.send("one two", OPTIONS).result(5)
    talk.rewind(2).result(5)
    assert talk.view().can_continue and talk.view().messages == (("user", "one two"),)
    turn = talk.continue_turn(OPTIONS).result(5)
    assert talk.view().messages == (("user", "one two"), ("assistant", turn.text))
    talk.rewind(2).result(5)
    talk.send("four", OPTIONS).result(5)
    assert [m for m in talk.view().messages if m[0] == "user"] == [("user", "four")]
    talk.rewind(3).result(5)
    cast(Any, talk.chat).fail = ContextFull("The context is full; clear it.", used=1, needed=9, max_ctx=4)
    with pytest.raises(ContextFull):
        talk.send("five", OPTIONS).result(5)
    assert talk.take_unsent() == "five"


def test_what_cannot_be_answered_again_is_refused_before_it_is_queued(make: Make) -> None:
    talk = make()
    for call in (lambda: talk.regenerate(OPTIONS), lambda: talk.edit(0, "x", OPTIONS)):
        with pytest.raises(Refused, match="send one first"):
            call()
    talk.send("one", OPTIONS).result(5)
    for number in (1, -1, 0.5, None):
        with pytest.raises(Refused, match="Message must be a whole number from 0 to 0"):
            talk.edit(cast(Any, number), "x", OPTIONS)
    assert len(talk.view().messages) == 2


def test_stop_before_the_first_token_of_an_edit_says_that_nothing_changed(make: Make) -> None:
    talk = make(pace=0.02, answer=5)
    talk.send("one", OPTIONS).result(5)
    future = talk.edit(0, "word " * 1000, OPTIONS)
    wait_for(lambda: talk.view().phase == "prefill")
    talk.stop()
    assert future.result(5).reason == "cancelled"
    assert talk.view().notice == UNCHANGED and talk.take_unsent() == ""


def test_stop_strings_and_the_system_message_reach_the_chat(make: Make) -> None:
    talk = make()
    talk.send("one", TurnOptions(max_new=5, stop=("x",), system="Be brief.")).result(5)
    chat = cast(Any, talk.chat)
    assert (chat.stop, chat.system) == (("x",), "Be brief.")
    talk.continue_turn(TurnOptions(max_new=5)).result(5)
    assert chat.system == ""


def test_a_check_leaves_the_worker_to_others_and_its_conversation_busy(make: Make) -> None:
    talk, other = make(pace=0.004, answer=60), make()
    with pytest.raises(Refused, match="no answer to check yet"):
        talk.check()
    said = talk.send("hello", OPTIONS).result(5) and talk.view().messages
    future = talk.check()
    wait_for(lambda: talk.view().checked is not None)
    for call in (lambda: talk.send("two", OPTIONS), talk.check, talk.clear):
        with pytest.raises(Refused, match="is being checked"):
            call()
    other.send("meanwhile", OPTIONS).result(5)
    assert not future.done() and talk.view().phase == "checking" and talk.view().messages == said
    assert future.result(5).identical
    assert talk.view().notice.startswith("Identical to plain decoding: ") and not talk.view().running
    assert talk.view().messages == said and talk.view().can_continue and talk.view().checked is None


def test_stop_ends_a_check_and_the_next_message_is_answered(make: Make) -> None:
    talk = make(pace=0.02, answer=60)
    talk.send("hello", OPTIONS).result(5)
    future = talk.check()
    wait_for(lambda: (talk.view().checked or (0, 0))[0] > 1)
    talk.stop()
    assert future.result(1).cancelled and "tokens identical so far" in talk.view().notice
    assert talk.send("two", OPTIONS).result(5).tokens


def test_a_failed_check_is_one_sentence_and_the_conversation_stays(make: Make) -> None:
    talk = make()
    talk.send("hello", OPTIONS).result(5)
    cast(Any, talk)._check = lambda session, progress: 1 / 0
    with pytest.raises(Refused, match="Something went wrong"):
        talk.check().result(5)
    assert talk.view().notice == UNEXPECTED and talk.send("two", OPTIONS).result(5).tokens


def test_two_conversations_take_turns_burst_by_burst() -> None:
    worker = Worker()
    engine = FakeEngine(pace=0.002, answer=400)
    long, short = (Conversation(sid * 32, worker, lambda: cast(Any, FakeChat(engine)), fake_check) for sid in "01")
    first = long.send("hello", TurnOptions(max_new=300, burst=8))
    wait_for(lambda: long.view().phase == "decoding")
    second = short.send("hello", TurnOptions(max_new=20, burst=8))
    assert second.result(5).reason == "length"
    assert not first.done(), "a short answer does not wait for the end of a long one"
    assert len(first.result(10).tokens) == 300
    worker.close()


def test_a_change_of_drafter_takes_effect_between_two_bursts_of_a_running_turn(make: Make) -> None:
    talk = make(pace=0.003, answer=400)
    future = talk.send("hello", TurnOptions(max_new=200, burst=8))
    wait_for(lambda: talk.view().phase == "decoding")
    talk.choose_drafter("none", 0)
    assert talk.chat is not None
    session = talk.chat.session
    wait_for(lambda: session.drafter.name == "none")
    assert not future.done()
    assert future.result(10).reason == "length"
    assert talk.options is not None and talk.options.drafter == "none"


def test_a_drafter_that_does_not_fit_is_told_at_the_end_and_the_turn_goes_on(make: Make) -> None:
    talk = make(pace=0.002, answer=400)
    future = talk.send("hello", TurnOptions(max_new=100, burst=8))
    wait_for(lambda: talk.view().phase == "decoding")
    talk.choose_drafter("model:other", 4)
    assert len(future.result(10).tokens) == 100
    wait_for(lambda: not talk.view().running)
    assert "does not fit this model" in talk.view().notice
    assert talk.chat is not None and talk.chat.session.drafter.name == "ngram"
