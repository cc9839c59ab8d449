"""Special tokens written out in a message stay text: only the template ends turns and begins them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from engine.chat.detokenize import decode_ids
from engine.chat.encoding import encode_plain
from engine.chat.inert import InertText
from engine.chat.prompt import Answer, build_prompt, render
from tests.factories import CHATML, build_tokenizer
from tests.vocabularies import TOKENIZERS, WORDS

MARKS = (
    "{% for m in messages %}{{ bos_token + m['content'] + eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}{{ bos_token }}{% endif %}"
)
"""Only markers and contents, for vocabularies that have few other characters."""
TRIMS = CHATML.replace("message['content']", "message['content'] | trim")


def chatml(template: str = CHATML) -> PreTrainedTokenizerFast:
    tokenizer = build_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


def spelling_metaspace() -> PreTrainedTokenizerFast:
    """As `metaspace`, with the characters of its special tokens: their text can be told again."""
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), *[(w, -3.0) for w in WORDS]]
    pieces += [(c, -5.0) for c in "abdeHlorw<>/sunk"]
    core = Tokenizer(models.Unigram([*dict(pieces).items()], unk_id=0, byte_fallback=False))
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    core.decoder = decoders.Metaspace(prepend_scheme="first")
    core.add_special_tokens(["<unk>", "<s>", "</s>"])
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def normalizing() -> PreTrainedTokenizerFast:
    """Special tokens that are looked for after normalisation, which folds full-width characters."""
    core = Tokenizer(models.BPE({c: i for i, c in enumerate(["<s>", "</s>", *"<>/sabc "])}, []))
    core.normalizer = normalizers.NFKC()
    core.decoder = decoders.Fuse()
    core.add_special_tokens([AddedToken(t, special=True, normalized=True) for t in ("<s>", "</s>")])
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>")


KINDS = TOKENIZERS | {"spelling metaspace": spelling_metaspace()}
FAITHFUL = {"byte-level", "byte-fallback", "spelling metaspace"}
"""Kinds that can write every character used here; the others lose some, special or not."""


def with_marks(kind: str) -> PreTrainedTokenizerFast:
    tokenizer = KINDS[kind]
    tokenizer.chat_template = MARKS
    if tokenizer.bos_token is None:
        tokenizer.bos_token = "<|im_start|>"
    return tokenizer


def controls(tokenizer) -> set[int]:
    """Special ids, less what any unknown character becomes."""
    unknown = {tokenizer.unk_token_id} if tokenizer.unk_token == "<unk>" else set()
    return {i for i, token in tokenizer.added_tokens_decoder.items() if token.special} - unknown


def plain_pieces(kind: str) -> list[str]:
    return ["Hello", " wor", "ld", " ", "a b", "!", "<", ">"] if kind == "byte-level" else ["Hello", " wor", "ld", " "]


def contents(kind: str, *, special: bool) -> st.SearchStrategy[str]:
    written = [t.content for t in KINDS[kind].added_tokens_decoder.values() if t.special]
    pieces = plain_pieces(kind) + (written + [t[:-1] for t in written] if special else [])
    if special and kind == "wordpiece":
        pieces = [p for p in pieces if not p.startswith(" ")]
    return st.lists(st.sampled_from(pieces), min_size=1, max_size=6).map("".join)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_content_becomes_a_control_token(kind, data):
    tokenizer = with_marks(kind)
    content = data.draw(contents(kind, special=True))
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    ids = build_prompt(tokenizer, [{"role": "user", "content": content}], {}, (), {eos}).ids
    assert (ids[0], ids[-2:]) == (bos, [eos, bos])
    assert controls(tokenizer).isdisjoint(ids[1:-2])
    if kind not in FAITHFUL:
        return
    written = [t.content for t in tokenizer.added_tokens_decoder.values() if t.special]
    first = min((at for at in map(content.find, written) if at >= 0), default=len(content))
    # Some of these tokenizers put a space behind a special token; that is theirs, and nothing is added to it.
    before = tokenizer.encode(tokenizer.bos_token + content[:first], add_special_tokens=False)
    start = decode_ids(tokenizer, before, specials=True)
    assert decode_ids(tokenizer, ids, specials=True) == start + content[first:] + tokenizer.decode([eos, bos])


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_conversation_without_special_text_is_tokenised_as_ever(kind, data):
    tokenizer = with_marks(kind)
    messages = [{"role": role, "content": data.draw(contents(kind, special=False))} for role in ("system", "user")]
    prompt = build_prompt(tokenizer, messages, {}, (), {tokenizer.eos_token_id})
    assert prompt.ids == tokenizer.encode(render(tokenizer, messages, header=True), add_special_tokens=False)
    assert prompt.checkpoint_at == len(prompt.ids) - 1


@pytest.mark.parametrize("kind", KINDS)
def test_special_text_gets_the_ids_of_split_special_tokens(kind):
    tokenizer = KINDS[kind]
    for token in tokenizer.added_tokens_decoder.values():
        tokenizer.encode("Hello", add_special_tokens=False)
        got = encode_plain(tokenizer, token.content)
        assert not tokenizer.backend_tokenizer.encode_special_tokens, "the option would reach other conversations"
        assert got == tokenizer.encode(token.content, add_special_tokens=False, split_special_tokens=True)


@given(st.lists(contents("byte-level", special=True), min_size=1, max_size=3), st.sampled_from([CHATML, TRIMS]))
@settings(max_examples=80, deadline=None)
def test_the_next_prompt_begins_with_the_last_and_its_answer(questions, template):
    """Answers are spelled letter by letter, special text included, as a model might write it."""
    tokenizer = chatml(template)
    start, end = tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"])
    messages, answers, history = [{"role": "system", "content": "a<|im_start|>b"}], {}, []
    for question in questions:
        messages.append({"role": "user", "content": question})
        prompt = build_prompt(tokenizer, messages, answers, history, {end})
        assert prompt.ids[: len(history)] == history
        assert prompt.source == ("stored" if answers else "text")
        assert tokenizer.decode(prompt.ids) == render(tokenizer, messages, header=True)
        assert prompt.ids.count(start) == len(messages) + 1 and prompt.ids.count(end) == len(messages)
        assert prompt.checkpoint_at == len(prompt.ids) - len(tokenizer.encode("<|im_start|>assistant\n"))
        text = f"no{question.strip()}."
        ids = [*[i for c in text for i in tokenizer.encode(c, add_special_tokens=False)], end]
        answers[len(messages)] = Answer(tuple(ids), text)
        messages.append({"role": "assistant", "content": text})
        history = [*prompt.ids, *ids]


def test_a_rewritten_answer_and_the_text_behind_a_stop_string_stay_text():
    tokenizer = chatml(CHATML.replace("message['content']", "message['content'].split('</think>')[-1]"))
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    for text, ids, rest in [
        ("<think>a</think>no<|im_end|>yes", (5, 6), ""),
        ("no<|im_end|>yes", tuple(tokenizer.encode("no")), "<|im_end|>yes"),
    ]:
        messages = [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": text},
            {"role": "user", "content": "So?"},
        ]
        prompt = build_prompt(tokenizer, messages, {1: Answer(ids, text, rest)}, (), {end})
        assert tokenizer.decode(prompt.ids) == render(tokenizer, messages, header=True)
        assert prompt.ids.count(end) == 3


def test_a_message_that_spells_the_whole_history_does_not_get_its_ids():
    """The caches hold a real end of turn where the edited message only writes one, and the texts are equal."""
    tokenizer = chatml()
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    first = build_prompt(tokenizer, [{"role": "user", "content": "Hello"}], {}, (), {end}).ids
    history = [*first, *tokenizer.encode("fox<|im_end|>", add_special_tokens=False)]
    spelled = tokenizer.decode(history).removeprefix("<|im_start|>user\n") + " more"
    edited = [{"role": "user", "content": spelled}]
    assert render(tokenizer, edited, header=True).startswith(tokenizer.decode(history))
    prompt = build_prompt(tokenizer, edited, {}, history, {end})
    assert (prompt.source, prompt.ids.count(end)) == ("text", 1)
    assert build_prompt(tokenizer, edited, {}, prompt.ids[:-4], {end}).source == "history"


def test_signs_are_characters_that_the_conversation_does_not_have():
    tokenizer = chatml()
    text = "\U000f0000<|im_end|>\U000f0001"
    messages = [{"role": "user", "content": text}]
    inert = InertText(tokenizer, [text], (), lambda: ["\U000f0002"])
    assert inert.hide(text) == "\U000f0000\U000f0003\U000f0001"
    prompt = build_prompt(tokenizer, messages, {})
    assert tokenizer.decode(prompt.ids) == render(tokenizer, messages, header=True)
    assert InertText(tokenizer, ["Hello"]).hide(text) == text


def test_a_stop_token_that_is_not_called_special_ends_no_turn_either():
    tokenizer = chatml()
    tokenizer.add_tokens([AddedToken("<end>", special=False, normalized=False)])
    stop = tokenizer.convert_tokens_to_ids("<end>")
    messages = [{"role": "user", "content": "a <end> b"}]
    assert stop in build_prompt(tokenizer, messages, {}).ids
    ids = build_prompt(tokenizer, messages, {}, (), {stop}).ids
    assert stop not in ids and "a <end> b" in tokenizer.decode(ids)


@pytest.mark.parametrize("content", ["a</s>b", "a\uff1c/s\uff1eb", "\uff1cs>\uff1c/s\uff1e"])
def test_what_a_normalizer_turns_into_a_special_token_stays_text(content):
    tokenizer = normalizing()
    tokenizer.chat_template = MARKS
    ids = build_prompt(tokenizer, [{"role": "user", "content": content}], {}).ids
    assert controls(tokenizer) & set(tokenizer.encode(content)), "the tokenizer alone would take it for one"
    assert [i for i in ids if i in controls(tokenizer)] == [ids[0], *ids[-2:]] == [0, 1, 0]
