"""Stop strings in a stream of text: against a definition that looks at the whole text, in any grouping."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.chat.answer_text import AnswerText
from engine.chat.detokenize import Detokenizer
from engine.chat.stop_strings import StopMatcher, check_stop
from engine.errors import EngineError
from tests.factories import build_tokenizer

STOPS = st.lists(st.text("ab\n", min_size=1, max_size=5), max_size=4)


def cut(text: str, stops: list[str]) -> tuple[int, str | None]:
    """By definition: where the text ends, and the stop string that ends it."""
    for end in range(1, len(text) + 1):
        done = [stop for stop in stops if text[:end].endswith(stop)]
        if done:
            longest = max(done, key=len)
            return end - len(longest), longest
    return len(text), None


def pieces(text: str, sizes: list[int]) -> list[str]:
    out = []
    for size in sizes:
        out.append(text[:size])
        text = text[size:]
    return [*out, text]


@given(st.text("ab\nc", max_size=40), STOPS, st.lists(st.integers(0, 5), max_size=20))
def test_the_text_ends_where_the_definition_says_in_any_grouping(text, stops, sizes):
    matcher = StopMatcher(stops)
    end, found = cut(text, stops)
    shown = ""
    for piece in pieces(text, sizes):
        shown += matcher.push(piece)
        assert text.startswith(shown) and len(shown) <= end, "nothing of the match was ever let through"
    assert (shown + matcher.flush(), matcher.found) == (text[:end], found)
    assert matcher.released == end and matcher.flush() == "" == (matcher.push("c") if found else "")


@given(st.text("ab\nc", max_size=40), STOPS)
def test_no_more_is_held_than_could_become_a_stop_string(text, stops):
    matcher = StopMatcher(stops)
    shown = matcher.push(text)
    if matcher.found is None:
        could = [
            n for n in range(len(text) + 1) if any(s.startswith(text[len(text) - n :]) and n < len(s) for s in stops)
        ]
        assert len(matcher.held) == max(could, default=0)
        assert shown + matcher.held == text


def test_a_long_self_similar_stop_string_costs_time_in_proportion_to_the_text():
    matcher = StopMatcher(["a" * 999 + "b"] * 16)
    shown = "".join(matcher.push("a" * 20) for _ in range(500))
    assert len(shown) == 10_000 - 999 and matcher.held == "a" * 999
    assert matcher.push("ab") == "a" and matcher.found


@pytest.mark.parametrize(
    ("stop", "says"),
    [
        ("END", "list of strings"),
        (["x", ""], "is empty"),
        (["x" * 1001], "1,001 characters"),
        (["x" * 10_000], "10,000 characters"),
        (["x"] * 17, "at most 16"),
        ([b"x"], "must be text, got bytes"),
        ([None], "must be text"),
    ],
)
def test_unfit_stop_strings_get_a_sentence(stop, says):
    with pytest.raises(EngineError, match=says) as caught:
        check_stop(stop)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    assert check_stop(["x" * 1000] * 16) and check_stop(()) == ()


# -- with the tokens that the text comes from --------------------------------------------------------------------------

TOKENIZER = build_tokenizer()
TEXTS = st.text("abtheäé🙂 \n", max_size=24)


def tokens_before(ids: list[int], end: int) -> tuple[int, str]:
    """By definition: how many leading tokens lie wholly in the first `end` characters, and the rest of those."""
    whole = TOKENIZER.decode(ids)
    for count in range(len(ids), -1, -1):
        part = TOKENIZER.decode(ids[:count])
        if len(part) <= end and whole.startswith(part):
            return count, whole[len(part) : end]
    raise AssertionError


@settings(deadline=None)
@given(TEXTS, st.lists(st.text("thäé🙂 \n", min_size=1, max_size=3), max_size=3))
def test_kept_tokens_are_those_wholly_before_the_match(text, stops):
    ids = TOKENIZER.encode(text, add_special_tokens=False)
    answer = AnswerText(Detokenizer(TOKENIZER), stops)
    end, found = cut(text, stops)
    shown = ""
    for number, token in enumerate(ids, start=1):
        shown += answer.push(token)
        covered = TOKENIZER.decode(ids[: answer.ready]) if stops else ""
        assert shown.startswith(covered), "a token is handed on once all of its text is shown"
        assert answer.ready <= number
    assert (shown + answer.flush(), answer.found) == (text[:end], found)
    if found:
        assert (answer.kept, answer.rest) == tokens_before(ids, end)
        assert TOKENIZER.decode(ids[: answer.kept]) + answer.rest == text[:end]
    else:
        assert answer.ready == answer.tokens == len(ids)


@settings(deadline=None)
@given(TEXTS, st.lists(st.text("thäé🙂 \n", min_size=1, max_size=3), min_size=1, max_size=3), st.integers(0, 24))
def test_an_answer_may_be_interrupted_anywhere(text, stops, at):
    """Restarted with the same stop strings it shows the same text; without any, what was held comes at once."""
    ids = TOKENIZER.encode(text, add_special_tokens=False)
    answer, freed = (AnswerText(Detokenizer(TOKENIZER), stops) for _ in range(2))
    shown = "".join(answer.push(token) for token in ids[:at])
    for token in ids[:at]:
        freed.push(token)
    held = answer.held
    assert freed.restart(()) == ("" if freed.found else held)
    shown += answer.restart(stops) if answer.found is None else ""
    if answer.found is None:
        shown += "".join(answer.push(token) for token in ids[at:]) + answer.flush()
    end, found = cut(text, stops)
    assert (shown, answer.found) == (text[:end], found)
    assert not found or (answer.kept, answer.rest) == tokens_before(ids, end)
