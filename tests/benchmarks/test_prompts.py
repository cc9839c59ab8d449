"""The fixed conversations, as suffixes."""

from __future__ import annotations

from benchmarks.conversations import CATEGORIES, CONVERSATIONS, TURNS
from benchmarks.prompts import suffixes
from tests.factories import build_tokenizer


def test_suffixes_joined_with_answers_are_the_rendered_chat():
    tokenizer = build_tokenizer()
    messages = CONVERSATIONS[0].messages
    parts = [tokenizer.decode(ids) for ids in suffixes(tokenizer, messages)]
    chat = []
    text = ""
    for message, part in zip(messages, parts, strict=True):
        chat.append({"role": "user", "content": message})
        text += part
        assert text == tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        chat.append({"role": "assistant", "content": "It is so."})
        text += "It is so."


def test_there_is_a_conversation_of_each_kind_and_a_long_first_message():
    assert CATEGORIES == ("chat", "code", "edit", "repetition")
    assert TURNS == 3
    assert len({one.name for one in CONVERSATIONS}) == len(CONVERSATIONS)
    assert max(len(one.messages[0].split()) for one in CONVERSATIONS) > 450
