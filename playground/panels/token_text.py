"""The text of one token id, made safe to look at: nothing invisible, nothing that reorders the line, never long.

A token is often no whole character. Such bytes are shown as `⟨E2 80⟩`; control, format, bidi and zero-width
characters as `⟨U+202E⟩`. Newlines and tabs stay: the token view draws a glyph for them.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Protocol

LONGEST = 40
"""Characters of one token's text that reach the page."""
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class Tokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is used here."""

    def decode(self, token_ids: list[int], **options: Any) -> str | list[str]: ...

    def convert_ids_to_tokens(self, ids: int) -> str | list[str] | None: ...


class TokenTexts:
    """Remembers the text of each id it was asked for; a vocabulary is finite, so the memory is bounded."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[int, str] = {}

    def __call__(self, token: int) -> str:
        if token not in self._known:
            self._known[token] = self._read(token)
        return self._known[token]

    def _read(self, token: int) -> str:
        try:
            piece = self._tokenizer.convert_ids_to_tokens(token)
            text = self._tokenizer.decode([token], skip_special_tokens=False, clean_up_tokenization_spaces=False)
        except (IndexError, KeyError, OverflowError, TypeError, ValueError):
            return f"⟨{token}⟩"  # an id the tokenizer does not know: padded vocabularies have them
        if not isinstance(piece, str) or not isinstance(text, str):
            return f"⟨{token}⟩"
        if "\ufffd" in text:
            return _as_bytes(piece) or visible(piece)
        if piece.startswith("\u2581") and not text.startswith(" "):
            text = " " + text  # SentencePiece drops the space of a sequence's first piece
        return visible(text or piece)


def visible(text: str) -> str:
    """`text` with every character that cannot be seen, or that changes the text around it, spelled out."""
    out = "".join(_shown(char) for char in text[: LONGEST + 1])
    if unicodedata.combining(out[:1] or " "):
        out = "◌" + out
    return out if len(out) <= LONGEST else out[: LONGEST - 1] + "…"


def _shown(char: str) -> str:
    if char in "\n\t":
        return char
    return f"⟨U+{ord(char):04X}⟩" if unicodedata.category(char) in _HIDDEN else char


def _as_bytes(piece: str) -> str | None:
    """`⟨E2 80⟩` for a byte-fallback or byte-level piece; None when it is neither."""
    single = _BYTE_TOKEN.fullmatch(piece)
    if single:
        return f"⟨{single.group(1).upper()}⟩"
    values = [_BYTE_OF.get(char) for char in piece]
    known = [value for value in values if value is not None]
    if not known or len(known) != len(values):
        return None
    return "⟨" + " ".join(f"{value:02X}" for value in known[:12]) + "⟩"


def _byte_alphabet() -> dict[str, int]:
    """Byte-level vocabularies write a printable Latin-1 byte as itself and the other 68, in order, from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in set(printable))
    return alphabet | {chr(0x100 + place): byte for place, byte in enumerate(others)}


_BYTE_OF = _byte_alphabet()
