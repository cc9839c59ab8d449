"""Brotli or gzip for the page itself. Gradio compresses by file extension, and `/` has none.

The views of the page repeat what they share, at distances that only Brotli's window spans: it sends a third less.
"""

from __future__ import annotations

from gradio.brotli_middleware import BrotliResponder, Mode
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

QUALITY = 5
"""Of Brotli: some milliseconds a page."""
SMALLEST = 1000
"""Bytes from which on it is worth it."""


class CompressPage:
    """Compresses the response to `/` alone: streams of events must not be held back by a compressor."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._gzip = GZipMiddleware(app, minimum_size=SMALLEST, compresslevel=6)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"] not in ("", "/"):
            await self._app(scope, receive, send)
        elif "br" in Headers(scope=scope).get("accept-encoding", ""):
            await BrotliResponder(self._app, QUALITY, Mode.text, 22, 0, SMALLEST)(scope, receive, send)
        else:
            await self._gzip(scope, receive, send)
