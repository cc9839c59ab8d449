"""Incremental decoding: whole characters only, the same text in any grouping, on every kind of tokenizer."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from engine.chat.detokenize import Detokenizer, decode_ids, token_piece
from tests.vocabularies import TOKENIZERS

CHARACTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from([*"abHello world!  \n", "你", "好", "é", "🙂", "👩\u200d👩\u200d👧", "e\u0301", "\ufffd", "🇫🇷"]),
)
TEXTS = st.lists(CHARACTERS, max_size=24).map("".join)


def _stream(tokenizer: PreTrainedTokenizerFast, ids: list[int], rng: random.Random) -> list[str]:
    """The pieces of text of `ids` pushed in random groups, empty ones included, then flushed."""
    stream, at, out = Detokenizer(tokenizer), 0, []
    while at < len(ids):
        size = rng.choice([0, 1, 1, 1, 2, 3, 7])
        out.append(stream.push(ids[at : at + size]))
        at += size
    return [*out, stream.flush()]


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(max_examples=120, deadline=None)
@given(text=TEXTS, seed=st.integers(0, 999))
def test_any_grouping_concatenates_to_the_tokenizers_own_decode(kind, text, seed):
    tokenizer = TOKENIZERS[kind]
    ids = tokenizer.encode(text, add_special_tokens=False)
    whole = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    pieces = _stream(tokenizer, ids, random.Random(seed))
    assert "".join(pieces) == whole
    if "\ufffd" not in whole:
        assert all("\ufffd" not in piece for piece in pieces)


@settings(max_examples=200, deadline=None)
@given(ids=st.lists(st.integers(0, 330), max_size=40), seed=st.integers(0, 999))
def test_any_ids_of_a_byte_level_vocabulary_decode_as_the_tokenizer_does(ids, seed):
    """Broken UTF-8, special tokens in the middle and rows without a token included."""
    tokenizer = TOKENIZERS["byte-level"]
    pieces = _stream(tokenizer, ids, random.Random(seed))
    assert "".join(pieces) == tokenizer.decode(ids, skip_special_tokens=True)
    assert decode_ids(tokenizer, ids, specials=True) == tokenizer.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("kind", ["byte-fallback", "metaspace", "wordpiece"])
@settings(max_examples=150, deadline=None)
@given(data=st.data(), seed=st.integers(0, 999))
def test_any_pieces_decode_as_the_tokenizer_does(kind, data, seed):
    tokenizer = TOKENIZERS[kind]
    plain = [i for p, i in tokenizer.get_vocab().items() if not p.startswith("<0x")]
    ids = data.draw(st.lists(st.sampled_from(plain), max_size=20))
    assert "".join(_stream(tokenizer, ids, random.Random(seed))) == tokenizer.decode(
        ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )


@pytest.mark.parametrize("kind", ["byte-level", "byte-fallback"])
def test_a_half_received_character_is_held_until_its_last_byte(kind):
    tokenizer = TOKENIZERS[kind]
    ids = tokenizer.encode("b🙂你", add_special_tokens=False)
    stream = Detokenizer(tokenizer)
    shown, held = [], []
    for token in ids:
        shown.append(stream.push([token]))
        held.append(stream.holds)
    assert "".join(shown).lstrip() == "b🙂你"
    assert {len(s) for s in shown} == {0, 1}, "a character left in parts or late"
    assert any(held) and not held[-1]


@pytest.mark.parametrize("kind", ["byte-level", "byte-fallback"])
def test_flush_shows_what_never_became_a_character_and_starts_anew(kind):
    tokenizer = TOKENIZERS[kind]
    ids = tokenizer.encode("b🙂", add_special_tokens=False)
    stream = Detokenizer(tokenizer)
    first = stream.push(ids[:-1])
    assert first.lstrip() == "b"
    assert stream.flush() == "\ufffd"
    assert stream.flush() == ""
    assert stream.push(ids) == first + "🙂"


def test_a_broken_byte_run_spoils_only_its_own_bytes():
    tokenizer = TOKENIZERS["byte-fallback"]
    good = tokenizer.encode("你", add_special_tokens=False)[1:]
    lone = tokenizer.convert_tokens_to_ids("<0xE5>")
    word = tokenizer.convert_tokens_to_ids("▁Hello")
    assert decode_ids(tokenizer, [*good, lone, word]) == "你\ufffd Hello"


def test_spaces_between_pushes_survive_and_the_first_one_does_not():
    for kind in ["byte-fallback", "metaspace"]:
        stream = Detokenizer(TOKENIZERS[kind])
        hello = TOKENIZERS[kind].convert_tokens_to_ids("▁Hello")
        assert [stream.push([hello]) for _ in range(3)] == ["Hello", " Hello", " Hello"], kind


def test_special_and_stop_ids_are_not_shown():
    tokenizer = TOKENIZERS["byte-level"]
    ids = tokenizer.encode("He<|im_start|>llo<|im_end|>", add_special_tokens=False)
    assert decode_ids(tokenizer, ids) == "Hello"
    ordinary = ids[0]
    assert decode_ids(tokenizer, ids, hidden={ordinary}) == "llo"
    assert decode_ids(tokenizer, ids, specials=True) == "He<|im_start|>llo<|im_end|>"


def test_the_cost_of_a_token_does_not_grow_with_the_answer():
    """Ten times the length in under thirty times the time, on the path that decodes pieces in context."""
    tokenizer = TOKENIZERS["byte-fallback"]
    ids = [tokenizer.convert_tokens_to_ids("▁Hello")] * 500

    def seconds(times: int) -> float:
        stream = Detokenizer(tokenizer)
        start = time.perf_counter()
        for _ in range(times):
            stream.push(ids)
        return time.perf_counter() - start

    seconds(1)
    assert seconds(20) < 60 * min(seconds(2) for _ in range(3))


def test_labels_of_tokens_are_readable():
    level, fallback = TOKENIZERS["byte-level"], TOKENIZERS["byte-fallback"]
    space, half = (
        level.encode(" ", add_special_tokens=False)[0],
        level.encode("🙂", add_special_tokens=False)[-1],
    )
    assert token_piece(level, space) == " "
    assert token_piece(level, half) == "<0x82>"
    assert token_piece(level, level.eos_token_id) == "<|im_end|>"
    assert token_piece(level, 330) == "<330>"
    assert token_piece(fallback, fallback.convert_tokens_to_ids("▁Hello")) == " Hello"
    assert token_piece(fallback, fallback.convert_tokens_to_ids("<0xE5>")) == "<0xE5>"
