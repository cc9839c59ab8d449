"""A file on its way here in pieces: no request is larger than the page's limit, and no upload outlives its page."""

from __future__ import annotations

import base64
import binascii
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from playground.exchange.trace_file import LARGEST_PACKED
from playground.limits import Refused

PIECE = 384 * 1024
"""Bytes of a file in one piece; all but the last have as many."""
AT_ONCE = 4
"""Uploads under way on this server."""
STALE_S = 60.0
LOST = "The upload has ended on the server; open the file once more."
BUSY = "Other files are being opened here; try again in a moment."


@dataclass
class Upload:
    """One file, piece by piece."""

    owner: str
    size: int
    data: bytearray = field(default_factory=bytearray)
    pieces: int = 0
    touched: float = 0.0


class Uploads:
    """Thread-safe. An upload belongs to the visitor who began it; a visitor has one at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[str, Upload] = {}

    def begin(self, owner: str, size: object) -> str:
        """An upload's id. Raises `Refused` for a size that no trace has, or while too many are under way."""
        if type(size) is not int or size < 0:
            raise Refused("The size of a file is missing.")
        if size > LARGEST_PACKED:
            raise Refused(f"The file has {size:,} bytes, but at most {LARGEST_PACKED:,} are taken; compress it first.")
        with self._lock:
            now = self._clock()
            for name, upload in list(self._open.items()):
                if upload.owner == owner or now - upload.touched > STALE_S:
                    del self._open[name]
            if len(self._open) >= AT_ONCE:
                raise Refused(BUSY)
            name = secrets.token_hex(8)
            self._open[name] = Upload(owner, size, touched=now)
        return name

    def add(self, owner: str, name: object, number: object, text: object) -> int:
        """Take piece `number`, in base64; returns the bytes there are. Raises `Refused`, and the upload is over."""
        with self._lock:
            upload = self._find(owner, name)
            piece = _decoded(text)
            fits = number == upload.pieces and len(upload.data) + len(piece) <= upload.size
            if not fits or not 0 < len(piece) <= PIECE:
                del self._open[str(name)]
                raise Refused(LOST)
            upload.data += piece
            upload.pieces += 1
            upload.touched = self._clock()
            return len(upload.data)

    def take(self, owner: str, name: object) -> bytes:
        """The file, once. Raises `Refused` when it is not complete."""
        with self._lock:
            upload = self._find(owner, name)
            del self._open[str(name)]
        if len(upload.data) != upload.size:
            raise Refused("The file did not arrive whole; open it once more.")
        return bytes(upload.data)

    def _find(self, owner: str, name: object) -> Upload:
        upload = self._open.get(name) if isinstance(name, str) else None
        if upload is None or upload.owner != owner:
            raise Refused(LOST)
        return upload


def _decoded(text: object) -> bytes:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        return b""
