"""A page for one machine is served under that machine's own names alone.

Any site may let its own name lead to 127.0.0.1 ("DNS rebinding"); its scripts would then be of one origin with the
page, and could read every conversation that is kept here. They cannot choose the name that the browser sends along.
"""

from __future__ import annotations

import ipaddress
import re

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

SENTENCE = (
    "This page is for its own machine alone, under http://127.0.0.1 or localhost; where others are meant to open it, "
    "start Draftscope with --host 0.0.0.0."
)
_PORT = re.compile(r":\d*$")


class OwnNames:
    """Answers 403 where the `Host` of a request is neither an address, nor localhost, nor `also`.

    An address is no danger: nobody can make another site's pages be of one origin with it.
    """

    def __init__(self, app: ASGIApp, also: str = "") -> None:
        self._app = app
        self._also = also

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        hosts = [value.decode("latin-1") for name, value in scope.get("headers", ()) if name == b"host"]
        if scope["type"] == "http" and not all(map(self._own, hosts)):
            await PlainTextResponse(SENTENCE, 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _own(self, host: str) -> bool:
        name = _PORT.sub("", host).lower().rstrip(".")
        if name in ("localhost", self._also.lower()) or name.endswith(".localhost"):
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True
