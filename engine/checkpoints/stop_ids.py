"""Every token id that ends a turn, found in the checkpoint itself.

`eos_token_id` alone is not enough: many chat checkpoints close a message with a special token of their own
(`<|im_end|>`, `<|eot_id|>`, `<end_of_turn>`, `<|end|>`), and only their template knows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jinja2 import TemplateError

_MARK = "draftscope closing token probe"


def end_of_turn_ids(tokenizer: Any, config: Any, generation_config: Any | None) -> frozenset[int]:
    """The union of all declared end ids and the special token that follows an assistant message in the
    template.

    `tokenizer` is a `PreTrainedTokenizerFast`; ids the model's vocabulary does not have are left out.
    """
    found: set[int] = set()
    for declared in (
        getattr(generation_config, "eos_token_id", None),
        getattr(config, "eos_token_id", None),
        tokenizer.eos_token_id,
    ):
        found |= _ids(declared)
    closing = closing_token_id(tokenizer)
    if closing is not None:
        found.add(closing)
    return frozenset(i for i in found if 0 <= i < int(config.vocab_size))


def closing_token_id(tokenizer: Any) -> int | None:
    """The special token that a rendered assistant message is closed with, or None if there is none."""
    if not tokenizer.chat_template:
        return None
    messages = [{"role": "user", "content": "question"}, {"role": "assistant", "content": _MARK}]
    try:
        text = str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=False))
    except (TemplateError, ValueError, TypeError, KeyError):
        return None  # a template that wants other messages: the declared ids must do
    _, found, tail = text.rpartition(_MARK)
    tail = tail.lstrip()
    if not found or not tail:
        return None
    openers = {tokenizer.bos_token} - {tokenizer.eos_token}
    matches = [
        (len(token.content), index)
        for index, token in tokenizer.added_tokens_decoder.items()
        if token.special and token.content and token.content not in openers and tail.startswith(token.content)
    ]
    return max(matches)[1] if matches else None


def _ids(value: int | Iterable[int] | None) -> set[int]:
    if value is None:
        return set()
    return {value} if isinstance(value, int) else {int(v) for v in value}
