"""An answer in one sentence for a request that broke the app, inside the headers that every answer has.

Without it Starlette answers outside all middleware, and the connection is closed under the caller's next request.
"""

from __future__ import annotations

import logging

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SENTENCE = "This request could not be served; the server's log says why."
log = logging.getLogger(__name__)


class LastResort:
    """Answers 500 for an error that nobody has handled; one after the answer has begun is passed on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            if started:
                raise
            log.exception("a request to %r failed", scope["path"])
            await PlainTextResponse(SENTENCE, 500)(scope, receive, send)
