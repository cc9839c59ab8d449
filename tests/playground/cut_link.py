"""A link to a server that can be cut and mended: a TCP proxy on a thread of its own."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Link:
    """Passes bytes both ways until it is cut; while cut it takes no connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (str(parts.hostname), int(parts.port or 80))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self.port = 0
        self.mend()

    @property
    def url(self) -> str:
        """Where the server is reached through this link."""
        return f"http://127.0.0.1:{self.port}/"

    def cut(self) -> None:
        """Close every connection, and refuse new ones."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        with self._lock:
            ends, self._open = self._open, set()
        for end in ends:
            _close(end)

    def mend(self) -> None:
        """Take connections again, at the same address."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while self._listener is listener:
            try:
                if not select.select([listener], [], [], 0.05)[0]:
                    continue
                near, _ = listener.accept()
                far = socket.create_connection(self._target, timeout=5)
            except (OSError, ValueError):
                continue
            with self._lock:
                self._open |= {near, far}
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        _close(source)
        _close(target)
        with self._lock:
            self._open -= {source, target}


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def link_to(url: str) -> Iterator[Link]:
    """A whole link, gone at the end."""
    link = Link(url)
    yield link
    link.cut()
