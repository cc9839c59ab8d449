"""The fixed conversations that every arm decodes, as suffixes of token ids per turn."""

from __future__ import annotations

from typing import Any

CONVERSATIONS: dict[str, tuple[str, ...]] = {
    "code": (
        "Write a Python function `mean(values)` that returns the arithmetic mean of a list of numbers.",
        "Write the same function again with a docstring and type hints.",
        "Write it once more and raise ValueError for an empty list.",
    ),
    "prose": (
        "Explain in a few sentences why the sky is blue.",
        "Explain it again for a child of six.",
        "Give three questions a teacher could ask about it.",
    ),
    "quote": (
        "Repeat this sentence five times, each on its own line: A round drafts, verifies, accepts and commits.",
        "Number the five lines from 1 to 5 and keep the sentence as it is.",
        "Now write the numbered list in reverse order.",
    ),
}

_ANSWER = "\u241f"
"""Stands for the answer while the template is rendered; no template or prompt contains it."""


def suffixes(tokenizer: Any, messages: tuple[str, ...]) -> list[list[int]]:
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
