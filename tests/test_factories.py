"""The tiny checkpoints are fit to test with: the tokenizer is a real one and the vocabulary awkward."""

from __future__ import annotations

import pytest
from transformers import AutoConfig, AutoTokenizer

from tests.factories import ARCHS, SLIDING_WINDOW, VOCAB


@pytest.mark.parametrize("name", ARCHS)
def test_the_folder_loads_like_a_real_checkpoint(tiny_checkpoint, name):
    folder = tiny_checkpoint(name)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    config = AutoConfig.from_pretrained(folder)
    assert len(tokenizer) < VOCAB == config.vocab_size
    assert VOCAB % 8
    for text in ("Grüße, 🙂 and 日本語\n", "<|im_start|>user\nHello!<|im_end|>\n"):
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text
    rendered = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True
    )
    assert rendered == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.encode(rendered, add_special_tokens=False)[0] == config.bos_token_id
    assert config.num_attention_heads % config.num_key_value_heads == 0


def test_windows_and_norms_are_the_ones_that_matter(tiny_checkpoint):
    assert AutoConfig.from_pretrained(tiny_checkpoint("mistral")).sliding_window == SLIDING_WINDOW
    gemma = AutoConfig.from_pretrained(tiny_checkpoint("gemma"))
    assert gemma.head_dim * gemma.num_attention_heads != gemma.hidden_size
