"""Gzip for the page itself. Gradio compresses by file extension, and `/` has none."""

from __future__ import annotations

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send


class CompressPage:
    """Compresses the response to `/` alone: streams of events must not be held back by a compressor."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._gzip = GZipMiddleware(app, minimum_size=1000, compresslevel=6)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        page = scope["type"] == "http" and scope["path"] in ("", "/")
        await (self._gzip if page else self._app)(scope, receive, send)
