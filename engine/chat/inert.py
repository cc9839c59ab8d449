"""What looks like a special token in a message stays text: only the template ends turns and begins them.

A template joins its own markers and the messages to one text, in which `<|im_end|>` typed by a user looks like the
template's. So before rendering, a special token's text in a message is replaced by a sign, one private-use character
that occurs nowhere else, which a template can trim around and cut before or behind, but not through. The text between
signs is tokenised as ever, and each sign becomes the ids of its text spelled in ordinary tokens. A conversation
without such text has no signs, and nothing about it changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.chat.detokenize import Detokenizer
from engine.chat.encoding import encode, encode_plain

_PRIVATE = range(0xF0000, 0xFFFFE)
"""Code points of the first private-use plane: no template treats one as space, and their case never changes."""


class InertText:
    """The signs of one conversation's messages, `texts`.

    Special tokens are those the tokenizer calls so, and added tokens among `stop_ids`. `others` is called only if
    there is something to hide, and returns more texts that a sign must not occur in.
    """

    def __init__(
        self,
        tokenizer: Any,
        texts: Sequence[str],
        stop_ids: Iterable[int] = (),
        others: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._tokenizer = tokenizer
        stops = frozenset(stop_ids)
        added: dict[int, Any] = tokenizer.added_tokens_decoder
        special = {i: token for i, token in added.items() if (token.special or i in stops) and token.content}
        self._special = frozenset(special)
        self._written = [token.content for token in special.values()]
        self._control = self._special - (_unknown(tokenizer) - stops - {tokenizer.eos_token_id})
        joined = "\n".join(texts)
        found = {text for text in self._written if text in joined}
        if any(special[i].normalized for i in self._control):
            found |= {text for one in texts for text in self._read_as_control(one)}
        self._signs = _choose_signs(found, texts, others) if found else {}
        self._text_of = {sign: text for text, sign in self._signs.items()}
        # The longest first: where two begin at one place, tokenizers take the longer one.
        self._hidden = re.compile("|".join(map(re.escape, sorted(found, key=len, reverse=True)))) if found else None
        self._sign = re.compile(f"([{''.join(self._text_of)}])") if found else None

    def hide(self, text: str) -> str:
        """`text` with signs in place of what looks like special tokens."""
        return self._hidden.sub(lambda match: self._signs[match[0]], text) if self._hidden else text

    def encode(self, text: str, *, after: bool = False) -> list[int]:
        """The ids of a text with signs; `after` as for `engine.chat.encoding.encode`."""
        if self._sign is None:
            return encode(self._tokenizer, text, after=after)
        ids: list[int] = []
        for piece in filter(None, self._sign.split(text)):
            behind = after or bool(ids)
            spelled = self._text_of.get(piece)
            if spelled is None:
                ids += encode(self._tokenizer, piece, after=behind)
            else:
                ids += self._spell(spelled, behind)
        return ids

    def decode(self, history: Iterable[int]) -> str:
        """The text of `history` with signs where ordinary tokens spell a special one: a true one keeps its text.

        Empty if they spell one that no message has, for then no prompt of this conversation begins so.
        """
        out = ""
        for text, special in self._runs(history):
            shown = text if special else self.hide(text)
            if not special and any(written in shown for written in self._written):
                return ""
            out += shown
        return out

    def _runs(self, history: Iterable[int]) -> Iterator[tuple[str, bool]]:
        """The texts of `history`, each of one special token or of ordinary tokens only."""
        stream, run = Detokenizer(self._tokenizer, specials=True), ""
        for token in history:
            piece = stream.push([token])
            if token in self._special:
                yield run, False
                yield piece, True
                run = ""
            else:
                run += piece
        yield run + stream.flush(), False

    def _spell(self, text: str, after: bool) -> list[int]:
        """The ids of a special token's text in ordinary tokens.

        Some vocabularies have the text as a word like any other: then it is spelled in halves.
        """
        ids = encode_plain(self._tokenizer, text, after=after)
        if self._control.isdisjoint(ids):
            return ids
        half = len(text) // 2
        if not half:  # a single character that is a special token and nothing else: there is no other way to write it
            return [i for i in ids if i not in self._control]
        left = self._spell(text[:half], after)
        return left + self._spell(text[half:], after or bool(left))

    def _read_as_control(self, text: str) -> Iterator[str]:
        """What the tokenizer's normalizer turns into a special token, as it stands in `text`."""
        read = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        for token, (start, end) in zip(read["input_ids"], read["offset_mapping"], strict=True):
            if token in self._control and end > start:
                yield text[start:end]


def _unknown(tokenizer: Any) -> set[int]:
    """The token that characters become which the vocabulary lacks: special, and yet nothing but text."""
    core = tokenizer.backend_tokenizer
    piece = getattr(core.model, "unk_token", tokenizer.unk_token)
    return set() if piece is None else {core.token_to_id(piece)}


def _choose_signs(found: set[str], texts: Iterable[str], others: Callable[[], Iterable[str]]) -> Mapping[str, str]:
    """A sign for each text: one character, found nowhere in the conversation."""
    taken = set().union(*texts, *others())
    free = (chr(code) for code in _PRIVATE if chr(code) not in taken)
    return dict(zip(sorted(found), free, strict=False))
