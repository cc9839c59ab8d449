"""From token ids to text as they arrive: whole characters only, at a cost per token that never grows.

A character may span tokens, so text cannot leave token by token. Byte-level tokenizers (GPT-2, Llama 3,
Qwen) and byte-fallback ones (`<0xE4>` pieces of SentencePiece vocabularies) are read as bytes, through an
incremental UTF-8 decoder; every other piece is decoded behind its last few predecessors, because a decoder
may treat the first piece of a text differently (Metaspace drops its space).

What `Detokenizer` yields, pushed in any grouping and flushed, is the tokenizer's own `decode` of all ids. One
case differs: a byte-fallback run that is not valid UTF-8 as a whole. `tokenizers` then replaces every byte of
the run, characters already shown included; here only the bytes that form no character are replaced.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

CONTEXT = 4
"""Predecessors decoded together with a piece: enough for every decoder rule that looks at a neighbour."""

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_alphabet() -> dict[str, int]:
    """The printable stand-in of every byte in a byte-level vocabulary, inverted.

    Bytes that print keep their own code point; the others take the code points from 256 on, in order.
    """
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [b for b in range(256) if b not in printing]
    return {chr(b): b for b in printing} | {chr(256 + n): b for n, b in enumerate(others)}


_ALPHABET = _byte_alphabet()


class Vocabulary:
    """How one tokenizer's ids become bytes or pieces; holds no text, so many streams may share one."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        backend = tokenizer.backend_tokenizer
        kinds = _decoder_kinds(backend.decoder)
        added: dict[int, Any] = tokenizer.added_tokens_decoder
        self.special = frozenset(i for i, token in added.items() if token.special)
        self._piece = backend.id_to_token
        self._byte_level = "ByteLevel" in kinds
        self._fallback = "ByteFallback" in kinds
        self._added = frozenset(added)
        self._cache: dict[int, bytes | None] = {}

    def known(self, token: int) -> bool:
        """Whether the id has a piece; a model's padded vocabulary rows have none and decode to nothing."""
        return self._piece(token) is not None

    def as_bytes(self, token: int) -> bytes | None:
        """The token's UTF-8 bytes when they can be told without its neighbours, else None."""
        if token not in self._cache:
            self._cache[token] = self._find_bytes(self._piece(token), token)
        return self._cache[token]

    def _find_bytes(self, piece: str, token: int) -> bytes | None:
        if self._byte_level:
            try:
                return bytes(_ALPHABET[c] for c in piece)
            except KeyError:  # an added token, spelled in plain text
                return piece.encode()
        if self._fallback and token not in self._added and (match := _BYTE_PIECE.fullmatch(piece)):
            return bytes([int(match[1], 16)])
        return None

    def decode(self, ids: Sequence[int]) -> str:
        """The tokenizer's text of `ids`, special tokens included, nothing cleaned up."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text


class Detokenizer:
    """The text of one answer, as whole characters.

    `push` takes the next ids and returns the text that is now certain; `flush` ends the answer and returns
    what was held back (U+FFFD for bytes that form no character). `hidden` ids and, unless `specials` is true,
    the tokenizer's special tokens are passed over.
    """

    def __init__(
        self,
        tokenizer: Any,
        hidden: Iterable[int] = (),
        *,
        specials: bool = False,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self._vocabulary = vocabulary or Vocabulary(tokenizer)
        self._hidden = frozenset(hidden) | (frozenset() if specials else self._vocabulary.special)
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._context: list[int] = []

    def push(self, ids: Iterable[int]) -> str:
        """Take the next ids (any number) and return the characters they complete, '' if none."""
        return "".join([self._one(token) for token in ids if self._shown(token)])

    def flush(self) -> str:
        """Return what is still held and begin anew, ready for another answer."""
        self._context.clear()
        return self._utf8.decode(b"", final=True)

    @property
    def holds(self) -> bool:
        """Whether bytes of a half-received character are held back."""
        return bool(self._utf8.getstate()[0])

    def _shown(self, token: int) -> bool:
        return token not in self._hidden and self._vocabulary.known(token)

    def _one(self, token: int) -> str:
        data = self._vocabulary.as_bytes(token)
        if data is not None:
            text = self._utf8.decode(data)
        else:
            before = self._vocabulary.decode(self._context)
            after = self._vocabulary.decode([*self._context, token])
            text = self._utf8.decode(b"", final=True) + after[len(before) :]
        self._context.append(token)
        del self._context[:-CONTEXT]
        return text


def decode_ids(tokenizer: Any, ids: Iterable[int], hidden: Iterable[int] = (), *, specials: bool = False) -> str:
    """The whole text of `ids` at once: what a `Detokenizer` yields for them, flush included."""
    stream = Detokenizer(tokenizer, hidden, specials=specials)
    return stream.push(ids) + stream.flush()


def token_piece(tokenizer: Any, token: int) -> str:
    """One token as text for a label: its space kept, lone bytes as `<0xE4>`, unknown ids by number."""
    vocabulary = Vocabulary(tokenizer)
    if not vocabulary.known(token):
        return f"<{token}>"
    data = vocabulary.as_bytes(token)
    if data is None:
        return str(tokenizer.backend_tokenizer.id_to_token(token)).replace("\u2581", " ")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in data)


def _decoder_kinds(decoder: Any) -> frozenset[str]:
    """The types of a `tokenizers` decoder and of everything in it, if it is a sequence."""
    if decoder is None:
        return frozenset()
    state = json.loads(decoder.__getstate__())
    return frozenset(part["type"] for part in [state, *state.get("decoders", [])])
