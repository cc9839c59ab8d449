"""Puts the page on the network: headers, limits, our own Plotly, and everything that calls home switched off."""

from __future__ import annotations

import logging
import os
import time
from typing import Any

import gradio as gr
from starlette.middleware import Middleware

from playground.closed_routes import ClosedRoutes, unknown_parameter
from playground.compress import CompressPage
from playground.ending import ending_with_care
from playground.following import TICK_S
from playground.handlers import Handlers
from playground.headers import BodyLimit, SecureHeaders
from playground.keeper import open_keeper
from playground.last_resort import LastResort
from playground.models.allowed import parse_models
from playground.own_names import OwnNames
from playground.page import build_page
from playground.plotly_asset import plotly_path, plotly_route
from playground.reach import reachable_by_others
from playground.service import Service, chat_of, load_from_settings
from playground.settings import Settings
from playground.theme import style_sheet, theme

GRACE_S = 1
"""Until connections that are still open are cut when the server ends, in seconds."""
log = logging.getLogger(__name__)


def serve(settings: Settings) -> None:
    """Run until a signal asks for the end. Raises `SettingsError` for an unknown name in `models`, before anything
    starts, and `OSError` when the port was taken in the meantime."""
    parse_models(settings.models)
    with ending_with_care() as ending:
        service = Service(settings, load_from_settings, chat_of, keeper=open_keeper(settings))
        page = build_page(service, Handlers(service))
        try:
            open_page(page, settings)
            log.info("Draftscope is at %s", page.local_url)
            service.start()
            ending.wait()
            log.info("stopping")
        finally:
            service.close()
            close_page(page)


def open_page(page: gr.Blocks, settings: Settings) -> None:
    """Launch without blocking."""
    page.launch(prevent_thread_lock=True, **launch_options(settings))


def close_page(page: gr.Blocks) -> None:
    """Off the network, a moment after the service was closed: pages that follow are told the end of their answers."""
    time.sleep(3 * TICK_S)
    if page.server is not None:
        page.server.config.timeout_graceful_shutdown = GRACE_S
    page.close(verbose=False)


def launch_options(settings: Settings) -> dict[str, Any]:
    """Everything `launch` needs; what could reach beyond this machine is off unless asked for."""
    return {
        "server_name": settings.host,
        "server_port": settings.port,
        "share": settings.share,
        "quiet": not settings.share,
        "show_error": False,
        "footer_links": ["api", "settings"],
        "run_history": False,
        "enable_monitoring": False,
        "ssr_mode": False,
        "mcp_server": False,
        "pwa": False,
        "max_file_size": "1mb",
        "state_session_capacity": 200,
        "strict_cors": True,
        "app_kwargs": {
            "middleware": [
                Middleware(SecureHeaders, framed="SPACE_ID" in os.environ),
                *([] if reachable_by_others(settings) else [Middleware(OwnNames, also=settings.host)]),
                Middleware(LastResort),
                Middleware(ClosedRoutes),
                Middleware(BodyLimit),
                Middleware(CompressPage),
            ],
            "routes": [plotly_route()],
            "exception_handlers": {TypeError: unknown_parameter, KeyError: unknown_parameter},
        },
        "theme": theme(),
        "css": style_sheet(),
        "head": f'<script src="{plotly_path()}" defer></script>',
    }
