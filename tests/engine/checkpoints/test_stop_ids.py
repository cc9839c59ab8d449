"""End-of-turn ids: declared ones, and the one that only the chat template knows."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine.checkpoints.stop_ids import closing_token_id, end_of_turn_ids
from tests.engine.checkpoints.conftest import CHATML, make_tokenizer

CONFIG = SimpleNamespace(eos_token_id=None, vocab_size=1000)


def with_specials(template: str, *specials: str):
    tokenizer = make_tokenizer(template)
    tokenizer.add_special_tokens({"additional_special_tokens": list(specials)})
    return tokenizer


@pytest.mark.parametrize(
    ("template", "closing"),
    [
        (CHATML, "<|im_end|>"),
        ("{% for m in messages %}<|h|>{{ m.role }}<|/h|>\n\n{{ m.content }}<|eot_id|>{% endfor %}", "<|eot_id|>"),
        ("{% for m in messages %}<turn>{{ m.role }}\n{{ m.content }}<end_of_turn>\n{% endfor %}", "<end_of_turn>"),
        ("{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}<|endoftext|>", "<|end|>"),
        ("{% for m in messages %}{{ m.content }}<|endoftext|>{% endfor %}", "<|endoftext|>"),
    ],
)
def test_closing_token_of_a_template(template: str, closing: str) -> None:
    tokenizer = with_specials(template, "<|eot_id|>", "<end_of_turn>", "<|end|>")
    assert closing_token_id(tokenizer) == tokenizer.convert_tokens_to_ids(closing)


@pytest.mark.parametrize(
    "template",
    [
        None,
        "{% for m in messages %}### {{ m.role }}: {{ m.content }}\n{% endfor %}",  # closes with plain text
        "{{ raise_exception('a system message is needed') }}",
        "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}",  # leaves answers out
        "{{ broken",
    ],
)
def test_templates_that_do_not_tell(template) -> None:
    assert closing_token_id(make_tokenizer(template)) is None


def test_union_of_all_that_is_declared() -> None:
    generation = SimpleNamespace(eos_token_id=[7, 8])
    config = SimpleNamespace(eos_token_id=9, vocab_size=1000)
    assert end_of_turn_ids(make_tokenizer(), config, generation) == {7, 8, 9, 0, 2}


def test_ids_outside_the_vocabulary_are_left_out() -> None:
    generation = SimpleNamespace(eos_token_id=5000)
    assert end_of_turn_ids(make_tokenizer(None), CONFIG, generation) == {0}


def test_no_generation_config() -> None:
    assert end_of_turn_ids(make_tokenizer(None), CONFIG, None) == {0}
