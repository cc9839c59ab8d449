"""Text to ids with nothing added: at the beginning of a prompt, and as it is tokenised behind other text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.chat.detokenize import Vocabulary


def encode(tokenizer: Any, text: str, *, after: bool = False) -> list[int]:
    """The ids of `text`, nothing added; with `after`, as it is tokenised behind other text.

    SentencePiece tokenizers put a space before a text that begins with an ordinary piece. Behind an answer
    that space would be an invention, so what comes before the first added token is then encoded behind an
    anchor that is cut off again; which anchor works depends on the tokenizer, and decoding tells.
    """

    def ids(part: str) -> list[int]:
        found: list[int] = tokenizer.encode(part, add_special_tokens=False)
        return found

    cut = _first_added(tokenizer, text) if after else 0
    return _behind(tokenizer, text[:cut], ids) + ids(text[cut:])


def encode_plain(tokenizer: Any, text: str, *, after: bool = False) -> list[int]:
    """The ids of `text` as if the tokenizer had no added tokens: what `split_special_tokens=True` gives.

    That option is a flag on the tokenizer itself, so it would reach into whatever another conversation encodes at the
    same moment. The tokenizer's own stages are called one by one instead.
    """
    core = tokenizer.backend_tokenizer

    def ids(part: str) -> list[int]:
        if core.normalizer is not None:
            part = core.normalizer.normalize_str(part)
        words = [part] if core.pre_tokenizer is None else [w for w, _ in core.pre_tokenizer.pre_tokenize_str(part)]
        return [token.id for word in words for token in core.model.tokenize(word)]

    return _behind(tokenizer, text, ids) if after else ids(text)


def _behind(tokenizer: Any, text: str, ids: Callable[[str], list[int]]) -> list[int]:
    """The ids of a text that has no added tokens for `ids`, as it is tokenised behind other text."""
    if not text:
        return []
    vocabulary = Vocabulary(tokenizer)
    for anchor in [*tokenizer.all_special_tokens[:1], "\n", "."]:
        head = ids(anchor)
        both = ids(anchor + text)
        if both[: len(head)] == head and vocabulary.decode(both) == vocabulary.decode(head) + text:
            return both[len(head) :]
    return ids(text)


def _first_added(tokenizer: Any, text: str) -> int:
    """Where the first added token begins in `text`, its length if there is none."""
    found = [text.find(token.content) for token in tokenizer.added_tokens_decoder.values()]
    return min((at for at in found if at >= 0), default=len(text))
