"""A conversation as every arm gets it: suffixes of token ids, one per turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_ANSWER = "\u241f"
"""Stands for the answer while the template is rendered; no template or prompt contains it."""


def suffixes(tokenizer: Any, messages: Sequence[str]) -> list[list[int]]:
    """Ids to append before each turn's answer: what the chat template puts between one answer and the next.

    The first holds the template's opening. The answers themselves are whatever the arm generates.
    """
    out = []
    for number, message in enumerate(messages):
        chat = [{"role": "user", "content": message}]
        if number:
            chat = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": _ANSWER}, *chat]
        text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        out.append(tokenizer.encode(text.rpartition(_ANSWER)[2], add_special_tokens=False))
    return out
