"""plotly.min.js from the installed wheel, on a route of our own whose name changes with the content."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route

MONTH = 30 * 24 * 3600


def plotly_file() -> Path:
    """Where the wheel keeps it; a file, since plotly is never installed zipped."""
    return Path(str(files("plotly") / "package_data" / "plotly.min.js"))


def plotly_path() -> str:
    """The route, without a leading slash, so that a page behind a path prefix finds it too."""
    return f"assets-local/plotly-{_digest()}.min.js"


def plotly_route() -> Route:
    """Serves the file with a cache life without end, for its name holds its hash."""

    def serve(request: Request) -> FileResponse:
        headers = {"cache-control": f"public, max-age={12 * MONTH}, immutable"}
        return FileResponse(plotly_file(), media_type="text/javascript", headers=headers)

    return Route(f"/{plotly_path()}", serve, methods=["GET", "HEAD"])


def _digest() -> str:
    with plotly_file().open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]
