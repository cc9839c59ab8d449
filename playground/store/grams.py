"""Which conversations can hold a text at all, told by a kilobyte each, so that a search reads only those few.

The bits of a conversation say which pairs and triples of bytes its messages have, case folded, each by a hash: a text
whose pairs and triples are not all there is in none of them. Too many bits only cost time, so they are never
taken away again, and a very long text sets all of them.
"""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from itertools import pairwise

BYTES = 1024
LONGEST = 100_000
"""Characters of a text that are looked at."""
ALL = b"\xff" * BYTES


def bits_of(text: str) -> bytes:
    """The bits of a text."""
    return ALL if len(text) > LONGEST else _mask(text.casefold()).to_bytes(BYTES, "little")


def may_hold(bits: bytes | None, folded: str) -> bool:
    """Whether a conversation of these bits can hold a text that is case folded; one without bits can."""
    if bits is None:
        return True
    asked = _asked(folded)
    return int.from_bytes(bits, "little") & asked == asked


def note(connection: sqlite3.Connection, sid: str, text: str) -> None:
    """A message of the conversation says `text` now; it is among the rows already."""
    row = connection.execute("SELECT bits FROM grams WHERE sid = ?", (sid,)).fetchone()
    if row is None:  # its first message, or one that was kept before there were bits
        texts = connection.execute("SELECT content FROM nodes WHERE sid = ?", (sid,))
        bits = _joined(*(bits_of(content) for (content,) in texts))
    else:
        bits = _joined(row[0], bits_of(text))
    if row is None or bits != row[0]:
        connection.execute("REPLACE INTO grams (sid, bits) VALUES (?, ?)", (sid, bits))


def _joined(*parts: bytes) -> bytes:
    whole = 0
    for part in parts:
        whole |= int.from_bytes(part, "little")
    return whole.to_bytes(BYTES, "little")


def _mask(folded: str) -> int:
    data = folded.encode()
    mask = bytearray(BYTES)
    for a, b in set(pairwise(data)):
        _set(mask, 1 << 24 | a << 8 | b)
    for a, b, c in set(zip(data, data[1:], data[2:], strict=False)):
        _set(mask, a << 16 | b << 8 | c)
    return int.from_bytes(mask, "little")


def _set(mask: bytearray, gram: int) -> None:
    place = (gram * 0x9E3779B1 & 0xFFFFFFFF) >> 19  # the upper 13 bits of a product: as many as there are places
    mask[place >> 3] |= 1 << (place & 7)


@lru_cache(maxsize=8)
def _asked(folded: str) -> int:
    return _mask(folded)
