"""Response headers that keep a page to its own origin, and a limit on request bodies. Plain ASGI: no buffering."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 1 << 20
"""Bytes; the longest message takes a fifth of it."""
DRAINED = 4 * BODY_LIMIT
"""Bytes of a refused body that are read and forgotten."""
POLICY = (
    "default-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "style-src 'self' 'unsafe-inline'",
    # Gradio compiles component templates in the page, and Plotly builds its workers from blobs.
    "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
    "worker-src 'self' blob:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'self'",
    "object-src 'none'",
)


class SecureHeaders:
    """Adds the headers to every response. `framed`: another site may show the page in a frame, as a Space needs."""

    def __init__(self, app: ASGIApp, framed: bool = False) -> None:
        self._app = app
        policy = POLICY if framed else (*POLICY, "frame-ancestors 'self'")
        self._headers = _encode(
            [
                ("content-security-policy", "; ".join(policy)),
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
                ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


class BodyLimit:
    """Answers 413 with one sentence when a request body is longer than `limit` bytes, declared or not."""

    def __init__(self, app: ASGIApp, limit: int = BODY_LIMIT) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > self._limit:
            await self._drain(receive)
            await self._refuse(send)
            return
        seen, more, started = 0, True, False

        async def counted() -> Message:
            nonlocal seen, more
            message = await receive()
            seen += len(message.get("body", b""))
            more = message.get("more_body", False)
            if seen > self._limit:
                raise _TooLongError
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            if seen > self._limit and not started:
                return  # whatever the app makes of the error, the answer is the one below
            started = True
            await send(message)

        with suppress(_TooLongError):
            await self._app(scope, counted, watched)
        if seen > self._limit and not started:
            if more:
                await self._drain(receive)
            await self._refuse(send)

    async def _drain(self, receive: Receive) -> None:
        """Read on for a while: who is still sending would find a closed connection instead of the answer."""
        left = DRAINED
        while left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            if message["type"] != "http.request" or not message.get("more_body", False):
                return

    async def _refuse(self, send: Send) -> None:
        body = f"The request is longer than {self._limit:,} bytes; send less.".encode()
        headers = _encode([("content-type", "text/plain; charset=utf-8"), ("content-length", str(len(body)))])
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class _TooLongError(Exception):
    pass


def _encode(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers]
