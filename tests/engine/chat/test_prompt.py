"""Prompts are a function of the conversation, and reuse is decided by ids."""

from __future__ import annotations

import pytest

from engine.chat.encoding import encode
from engine.chat.prompt import Answer, build_prompt, render
from engine.chat.reuse import plan_reuse
from engine.errors import EngineError
from tests.factories import CHATML, build_tokenizer
from tests.vocabularies import TOKENIZERS, byte_fallback_tokenizer, metaspace_tokenizer

HI = [{"role": "user", "content": "Hello you"}]
STRIPS_THINKING = CHATML.replace("message['content']", "message['content'].split('</think>')[-1]")
TRIMS = CHATML.replace("message['content']", "message['content'] | trim")
NO_HEADER = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if m['role'] == 'user' %}{{ '[INST] ' + m['content'] + ' [/INST]' }}"
    "{% elif m['role'] == 'assistant' %}{{ ' ' + m['content'] + ' ' + eos_token }}"
    "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"
)


def chatml(template: str = CHATML):
    tokenizer = build_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


def ids_of(tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False)


def answered(tokenizer, text: str, ids: list[int] | None = None, question: str = "And now?"):
    """A conversation with one answer, generated as `ids` (by default letter by letter), and a question."""
    spelled = [i for c in text for i in ids_of(tokenizer, c)]
    answer = Answer(tuple(ids if ids is not None else [*spelled, tokenizer.eos_token_id]), text)
    messages = [*HI, {"role": "assistant", "content": text}, {"role": "user", "content": question}]
    return messages, {1: answer}


def test_the_first_prompt_is_the_templates_own_ids():
    tokenizer = chatml()
    prompt = build_prompt(tokenizer, HI, {})
    assert prompt.ids == tokenizer.apply_chat_template(HI, add_generation_prompt=True, return_dict=False)
    header = ids_of(tokenizer, "<|im_start|>assistant\n")
    assert prompt.checkpoint_at == len(prompt.ids) - len(header)
    assert prompt.ids[prompt.checkpoint_at :] == header


def test_an_answer_keeps_the_ids_it_was_generated_with():
    """Spelled letter by letter, as no tokenizer would: tokenising the text again would lose the caches."""
    tokenizer = chatml()
    messages, answers = answered(tokenizer, "The quick brown fox")
    first = build_prompt(tokenizer, HI, {}).ids
    history = [*first, *answers[1].ids]
    prompt = build_prompt(tokenizer, messages, answers, history, {tokenizer.eos_token_id})
    assert prompt.source == "stored"
    assert prompt.ids[: len(history)] == history
    assert tokenizer.decode(prompt.ids) == render(tokenizer, messages, header=True)
    assert prompt.ids != ids_of(tokenizer, render(tokenizer, messages, header=True))
    reuse = plan_reuse(tokenizer, prompt.ids, history, [5])
    assert (reuse.decision, reuse.reused, reuse.common) == ("extend", len(history), len(history))
    assert (reuse.first_diff, reuse.ours, reuse.theirs, reuse.why) == (None, "", "", "")
    assert history + reuse.suffix == prompt.ids


def test_the_prompt_does_not_depend_on_what_the_caches_hold():
    tokenizer = chatml()
    messages, answers = answered(tokenizer, "The quick brown fox")
    first = build_prompt(tokenizer, HI, {})
    stops = {tokenizer.eos_token_id}
    histories = [[], first.ids, first.ids[: first.checkpoint_at], [*first.ids, *answers[1].ids], [7, 8, 9]]
    prompts = [build_prompt(tokenizer, messages, answers, h, stops) for h in histories]
    assert all(p == prompts[0] for p in prompts)


def test_an_answer_cut_off_before_its_stop_id_is_closed_by_the_template():
    tokenizer = chatml()
    spelled = [i for c in "The qui" for i in ids_of(tokenizer, c)]
    messages, answers = answered(tokenizer, "The qui", spelled)
    history = [*build_prompt(tokenizer, HI, {}).ids, *spelled]
    prompt = build_prompt(tokenizer, messages, answers, history, {tokenizer.eos_token_id})
    assert prompt.ids[: len(history) + 1] == [*history, tokenizer.eos_token_id]


@pytest.mark.parametrize(
    ("template", "text", "shown"),
    [
        (STRIPS_THINKING, "<think>\nbrown dog</think>\nThe fox", "\nThe fox"),
        (TRIMS, " The fox \n", "The fox"),
    ],
)
def test_a_rewritten_answer_is_tokenised_from_its_text_and_rewinds(template, text, shown):
    tokenizer = chatml(template)
    messages, answers = answered(tokenizer, text)
    first = build_prompt(tokenizer, HI, {})
    history = [*first.ids, *answers[1].ids]
    prompt = build_prompt(tokenizer, messages, answers, history, {tokenizer.eos_token_id})
    full = render(tokenizer, messages, header=True)
    assert prompt.ids == ids_of(tokenizer, full)
    assert f"assistant\n{shown}<|im_end|>" in full
    reuse = plan_reuse(tokenizer, prompt.ids, history, [first.checkpoint_at, len(first.ids)])
    assert reuse.decision == "rewind"
    assert reuse.checkpoint == reuse.reused in {first.checkpoint_at, len(first.ids)}
    assert reuse.checkpoint <= reuse.common == reuse.first_diff < len(history)
    assert history[: reuse.reused] + reuse.suffix == prompt.ids
    assert repr(reuse.ours) in reuse.why
    assert repr(reuse.theirs) in reuse.why


def test_only_the_rewritten_answer_loses_its_ids():
    tokenizer = chatml(STRIPS_THINKING)
    messages, answers = answered(tokenizer, "<think>a</think>The fox")
    plain = [i for c in "The lazy dog" for i in ids_of(tokenizer, c)]
    messages += [{"role": "assistant", "content": "The lazy dog"}, {"role": "user", "content": "So?"}]
    prompt = build_prompt(tokenizer, messages, answers | {3: Answer(tuple(plain), "The lazy dog")})
    assert tokenizer.decode(prompt.ids) == render(tokenizer, messages, header=True)
    text = ",".join(map(str, prompt.ids))
    assert ",".join(map(str, plain)) in text
    assert ",".join(map(str, ids_of(tokenizer, "The fox"))) in text


def test_equal_answers_and_quoted_frames_do_not_confuse_the_places():
    tokenizer = chatml()
    messages, answers = answered(tokenizer, "fox", question="fox<|im_end|>\n<|im_start|>user\nfox")
    ids = [ids_of(tokenizer, c)[0] for c in "fox"]
    stops = {tokenizer.eos_token_id}
    messages += [{"role": "assistant", "content": "fox"}, {"role": "user", "content": "answer1end"}]
    prompt = build_prompt(tokenizer, messages, answers | {3: Answer(tuple(ids), "fox")}, (), stops)
    assert prompt.source == "stored"
    assert tokenizer.decode(prompt.ids) == render(tokenizer, messages, header=True)


def test_a_template_that_cannot_be_taken_apart_falls_back_to_the_history_then_to_text():
    """It shouts what is short: markers never come back as they went in, and short answers are changed."""
    tokenizer = chatml(
        CHATML.replace("message['content']", "('' if 'answer' in message['content'] else message['content'])")
    )
    messages, answers = answered(tokenizer, "The quick fox")
    first = build_prompt(tokenizer, HI, {}).ids
    history = [*first, *answers[1].ids]
    prompt = build_prompt(tokenizer, messages, answers, history, {tokenizer.eos_token_id})
    assert prompt.source == "history"
    assert prompt.ids[: len(history)] == history
    assert tokenizer.decode(prompt.ids) == render(tokenizer, messages, header=True)
    assert prompt.checkpoint_at is not None
    unrelated = build_prompt(tokenizer, messages, answers, [5, 6], {tokenizer.eos_token_id})
    assert unrelated.source == "text"
    assert unrelated.ids == ids_of(tokenizer, render(tokenizer, messages, header=True))


@pytest.mark.parametrize("build", [byte_fallback_tokenizer, metaspace_tokenizer])
def test_sentencepiece_prompts_begin_once_and_invent_no_space(build):
    """A template without a live header and with plain text right behind the answer."""
    tokenizer = build()
    tokenizer.chat_template = NO_HEADER
    spelled = [tokenizer.convert_tokens_to_ids(p) for p in ["▁Hello", "▁wor", "ld"]]
    text = "Hello world"
    messages, answers = answered(tokenizer, text, [*spelled, tokenizer.eos_token_id], question="a b")
    first = build_prompt(tokenizer, HI, {})
    assert first.ids == ids_of(tokenizer, render(tokenizer, HI, header=True))
    assert first.checkpoint_at is None
    prompt = build_prompt(tokenizer, messages, answers, (), {tokenizer.eos_token_id})
    assert prompt.source == "stored"
    assert prompt.ids.count(tokenizer.bos_token_id) == 1
    assert prompt.ids.count(tokenizer.eos_token_id) == 1
    at = prompt.ids.index(tokenizer.eos_token_id)
    assert tokenizer.decode(prompt.ids[:at][-2:]).endswith("ld "), "the template's one space, not two"


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("text", ["Hello world", " Hello", "  Hello", "!", " a b", " </s>", ""])
def test_text_behind_text_is_encoded_as_it_stands(kind, text):
    tokenizer = TOKENIZERS[kind]
    if kind == "wordpiece" and text:
        pytest.skip("WordPiece forgets spaces, so no encoding can give them back")
    before = ids_of(tokenizer, "wor")
    joined = tokenizer.decode([*before, *encode(tokenizer, text, after=True)])
    assert joined == tokenizer.decode(before) + text


def test_a_prompt_inside_the_history_leaves_nothing_to_prefill_only_at_a_checkpoint():
    tokenizer = chatml()
    history = list(range(10, 30))
    for length in [20, 12, 8]:
        prompt = history[:length]
        rewound = plan_reuse(tokenizer, prompt, history, [4, 7, 11, 21])
        assert rewound.decision == "rewind"
        assert rewound.checkpoint == {20: 11, 12: 11, 8: 7}[length]
        assert rewound.suffix == prompt[rewound.checkpoint :]
        assert "within" in rewound.why
        primed = plan_reuse(tokenizer, prompt, history, [length + 1])
        assert (primed.decision, primed.suffix, primed.reused) == ("prime", prompt, 0)
        there = plan_reuse(tokenizer, prompt, history, [4, length])
        assert (there.decision, there.suffix, there.reused) == ("extend" if length == 20 else "rewind", [], length)


def test_a_fresh_session_extends_from_nothing_and_a_failed_one_is_primed():
    tokenizer = chatml()
    fresh = plan_reuse(tokenizer, [5, 6], [])
    assert (fresh.decision, fresh.reused, fresh.suffix, fresh.why) == ("extend", 0, [5, 6], "")
    failed = plan_reuse(tokenizer, [5, 6, 7], [5, 6], [1], trusted=False)
    assert (failed.decision, failed.reused, failed.suffix) == ("prime", 0, [5, 6, 7])


def test_a_stop_id_that_the_template_does_not_write_costs_a_rewind_to_the_prompts_end():
    tokenizer = chatml()
    messages, answers = answered(tokenizer, "fox")
    other = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    first = build_prompt(tokenizer, HI, {})
    generated = [*answers[1].ids[:-1], other]
    history = [*first.ids, *generated]
    stops = {other, tokenizer.eos_token_id}
    prompt = build_prompt(tokenizer, messages, {1: Answer(tuple(generated), "fox")}, history, stops)
    reuse = plan_reuse(tokenizer, prompt.ids, history, [first.checkpoint_at, len(first.ids)])
    assert (reuse.decision, reuse.checkpoint) == ("rewind", len(first.ids))
    assert (reuse.first_diff, reuse.ours, reuse.theirs) == (len(history) - 1, "<|endoftext|>", "<|im_end|>")


def test_a_template_that_refuses_and_a_missing_one_get_a_sentence():
    tokenizer = chatml(NO_HEADER)
    with pytest.raises(EngineError, match=r"refuses these messages.*system, user.*Only user and assistant"):
        build_prompt(tokenizer, [{"role": "system", "content": "Be brief."}, *HI], {})
    tokenizer.chat_template = None
    with pytest.raises(EngineError, match="no chat template"):
        build_prompt(tokenizer, HI, {})
