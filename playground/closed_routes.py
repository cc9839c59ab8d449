"""Routes of Gradio that the page does not use and that take something from anyone: closed before Gradio sees them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

CLOSED = ("upload", "upload_progress", "process_recording")
"""Would write files of visitors to this machine; there is nothing on the page to upload."""


class ClosedRoutes:
    """Answers 403 for the routes in `CLOSED`, below any prefix; downloads are other routes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"].rstrip("/").rpartition("/")[2] in CLOSED:
            await PlainTextResponse("No files are taken here.", 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


async def unknown_parameter(request: Request, error: Exception) -> JSONResponse:
    """A call by names (`/call/v2/...`) that fits no endpoint; Gradio would answer 500 with a traceback in the log."""
    if "/call/v2/" not in request.url.path:
        raise error
    reason = f"there is no endpoint {error}" if isinstance(error, KeyError) else str(error)
    return JSONResponse({"error": f"The call does not fit: {reason}."}, 422)
