"""Sampled conversations: the stream's promises hold through messages, stop strings, answers again, edits and Stop."""

from __future__ import annotations

import itertools

import pytest

from engine import EngineError, SamplingParams, generate_spec_session
from engine.chat import ChatSession
from engine.events import DrawEvent, RoundEvent, SamplingEvent
from tests.chats import agree
from tests.engine.sampling.account import require_sound_counters
from tests.factories import VOCAB
from tests.scripts import GarbageDrafter

WARM = SamplingParams(temperature=0.9, top_p=0.95, frequency_penalty=0.2, seed=9)
FIRST, SECOND, THIRD = "The quick brown fox", "a b c", "naïve 🙂"


def stop_after(count):
    """An `on_tokens` that says no at the round edge at which `count` tokens have been shown."""
    seen: list[int] = []

    def take(delta):
        seen.extend(delta.tokens)
        return len(seen) < count

    return take


class Conversation:
    """One chat and what its turns said."""

    def __init__(self, engine, drafter="none", k=7, *, sampling=WARM, verify="coupled", **options):
        self.chat = ChatSession(engine)
        self.chat.session.set_drafter(drafter, k)
        self.options = {"sampling": sampling, "verify": verify} | options
        self.said: list[tuple[str, tuple[int, ...], str]] = []

    def __call__(self, call, *args, **options):
        turn = getattr(self.chat, call)(*args, **(self.options | options))
        agree(self.chat)
        self.said.append((turn.text, tuple(turn.tokens), turn.reason))
        return turn

    def go_on(self, new):
        """Unless the answer has ended by itself."""
        if self.chat.can_continue:
            self("continue_turn", new)

    def end(self):
        """What was said, the messages, the rounds, the draw counter."""
        session = self.chat.session
        require_sound_counters(list(session.trace), session.sctr, session.uctr)
        out = self.said, self.chat.messages, [e.emitted for e in session.trace.of(RoundEvent)], session.sctr
        session.close()
        return out


def whole_conversation(engine, stop, drafter="none", k=7, **options):
    """Every way to get an answer; `Conversation.end`."""
    talk = Conversation(engine, drafter, k, **options)
    talk("send", FIRST, 14)
    talk.go_on(6)
    talk("send", SECOND, 16, stop=[stop])
    talk("regenerate", 9)
    talk.go_on(5)
    talk("send", THIRD, 8)
    talk("edit", 1, "Hello! ", 10)
    talk("regenerate", 10)
    return talk.end()


@pytest.fixture
def engine(tiny_engine):
    return tiny_engine("llama", max_ctx=512)


def find_stop(engine, *args, **options):
    """Two characters from the middle of the second answer."""
    talk = Conversation(engine, *args, **options)
    talk("send", FIRST, 14)
    talk.go_on(6)
    text = talk("send", SECOND, 16).text
    talk.end()
    middle = next(i for i in range(len(text) // 2, len(text)) if text[i : i + 2].isascii())
    return text[middle : middle + 2]


# -- coupled: whatever the drafter and K -------------------------------------------------------------------------------


@pytest.mark.parametrize("drafter", ["none", "ngram", "garbage", "own"])
def test_a_coupled_conversation_is_the_same_for_every_drafter_k_and_cut(engine, tiny_checkpoint, drafter):
    stop = find_stop(engine)
    said, messages, _, _ = whole_conversation(engine, stop, burst=500, k=0)
    assert said[2][2] == "stop" and stop not in said[2][0] and said[6] != said[7], "the script is worth nothing"
    assert not engine.stop_ids & set(said[2][1])
    answers = [tokens for _, tokens, _ in said]

    def truth(history, count):
        for tokens in answers:
            for place in range(min(len(tokens), 6), 0, -1):
                if tuple(history[-place:]) == tokens[:place]:
                    return [*tokens[place : place + count], *[0] * count][:count]
        return [0] * count

    names = {"own": f"model:{tiny_checkpoint('llama')}"}
    for k, burst, overshoot in ((1, 1, "keep"), (3, 5, "trim"), (5, 2, "keep"), (7, 32, "keep"), (7, 3, "trim")):
        guess = GarbageDrafter(VOCAB, right=0.9, truth=truth) if drafter == "garbage" else names.get(drafter, drafter)
        again = whole_conversation(engine, stop, guess, k, burst=burst, overshoot=overshoot)
        assert again[:2] == (said, messages), (k, burst, overshoot)
    assert drafter not in ("own", "garbage") or len(again[2]) < sum(map(len, answers)), "nothing was accepted"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_drafter_that_changes_between_bursts_changes_nothing(tiny_engine, tiny_checkpoint, dtype):
    engine = tiny_engine("llama", dtype, max_ctx=512)
    stop = find_stop(engine)
    plain = whole_conversation(engine, stop, k=0)
    names = itertools.cycle(["ngram", f"model:{tiny_checkpoint('llama')}", "none"])
    ks = itertools.cycle([4, 7, 0, 2])
    talks: list[ChatSession] = []

    def change():
        talks[0].session.set_drafter(next(names), next(ks))

    talk = Conversation(engine, "ngram", 3, burst=3, on_burst=change)
    talks.append(talk.chat)
    talk("send", FIRST, 14)
    talk.go_on(6)
    talk("send", SECOND, 16, stop=[stop])
    assert talk.said == plain[0][:3] and len(talk.chat.session.trace.of(RoundEvent)) > 3
    talk.end()


@pytest.mark.parametrize("verify", ["coupled", "rejection"])
def test_a_stopped_answer_goes_on_as_if_it_had_not_been_stopped(engine, verify):
    through = Conversation(engine, "ngram", 4, verify=verify, burst=5)
    whole = through("send", FIRST, 24).tokens
    assert len(whole) > 14
    for count in (1, 2, 7, 13):
        talk = Conversation(engine, "ngram", 4, verify=verify, burst=5)
        first = talk("send", FIRST, 24, on_tokens=stop_after(count))
        assert first.reason == "cancelled" and count <= len(first.tokens) < len(whole)
        rest = talk("continue_turn", 24 - len(first.tokens))
        assert [*first.tokens, *rest.tokens] == whole
        talk.end()
    through.end()


# -- rejection: however it is cut --------------------------------------------------------------------------------------


@pytest.mark.parametrize("drafter", ["ngram", "own"])
def test_a_rejection_conversation_is_the_same_however_it_is_cut(engine, tiny_checkpoint, drafter):
    name = f"model:{tiny_checkpoint('llama')}" if drafter == "own" else drafter
    stop = find_stop(engine, name, 4, verify="rejection")
    whole = whole_conversation(engine, stop, name, 4, verify="rejection", burst=500)
    assert any(reason == "stop" and not engine.stop_ids & set(tokens) for _, tokens, reason in whole[0]), "no match"
    for burst in (1, 2, 5, 32):
        assert whole_conversation(engine, stop, name, 4, verify="rejection", burst=burst) == whole, burst
    other = whole_conversation(engine, stop, name, 2, verify="rejection")
    assert drafter == "ngram" or other[0] != whole[0], "the stream of rejection depends on K"


# -- both --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verify", ["coupled", "rejection"])
def test_an_answer_again_is_another_one_and_no_forward_comes_before_it(engine, verify):
    talk = Conversation(engine, "ngram", 4, verify=verify)
    answers = {tuple(talk("send", FIRST, 12).tokens)}
    seen: list[int] = []
    for _ in range(4):
        before = engine.trunk.forwards
        seen.clear()
        turn = talk("regenerate", 12, on_tokens=lambda delta: seen.append(engine.trunk.forwards) or True)
        assert seen[1] == before, "the stored row gave the first token"
        answers.add(tuple(turn.tokens))
    assert len(answers) == 5
    assert [event.cause for event in talk.chat.session.trace.of(DrawEvent)] == ["first"] * 5
    talk.end()


@pytest.mark.parametrize("verify", ["coupled", "rejection"])
def test_a_chat_without_a_seed_can_be_had_again_from_its_trace(engine, verify):
    unseeded = SamplingParams(temperature=0.9, top_p=0.95, frequency_penalty=0.2)
    talk = Conversation(engine, "ngram", 4, sampling=unseeded, verify=verify)
    talk("send", FIRST, 12)
    talk("regenerate", 12)
    event, *more = talk.chat.session.trace.of(SamplingEvent)
    assert not more and event.seed is not None and event.mode == verify
    again = Conversation(engine, "ngram", 4, sampling=SamplingParams(0.9, 0, 0.95, 0.0, 1.0, 0.2, seed=event.seed))
    again.options["verify"] = verify
    again("send", FIRST, 12)
    again("regenerate", 12)
    assert talk.said == again.said
    talk.end()
    again.end()


def test_greedy_turns_between_sampled_ones_are_greedy(engine):
    """What was drawn before is in the prompt; nothing else of it is left."""
    talk = Conversation(engine, "ngram", 5)
    modes = ((WARM, "rejection"), (None, "rejection"), (WARM, "coupled"), (SamplingParams(temperature=0), "coupled"))
    for number, (sampling, verify) in enumerate(modes):
        turn = talk("send", f"{FIRST} {number}", 10, sampling=sampling, verify=verify)
        if number % 2:
            session = talk.chat.session
            plain = engine.new_session("none")
            prompt = session.history[: turn.start]
            assert turn.tokens == generate_spec_session(plain, prompt, 10).tokens[: len(turn.tokens)]
            plain.close()
    kinds = [event.mode for event in talk.chat.session.trace.of(SamplingEvent)]
    assert kinds == ["rejection", "greedy", "coupled", "greedy"]
    talk.end()


@pytest.mark.parametrize("options", [{"verify": "exact"}, {"sampling": 0.7}, {"sampling": {"temperature": 1}}])
def test_bad_settings_are_refused_before_anything_runs(engine, options):
    chat = ChatSession(engine)
    events = len(chat.session.trace)
    with pytest.raises(EngineError, match="must be"):
        chat.send(FIRST, 5, **({"sampling": WARM} | options))
    assert len(chat.session.trace) == events and not chat.messages
    chat.session.close()
