"""A small page around the tabs that measure. Run it to look at it: python -m tests.playground.measuring_page 7872"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import gradio as gr

from playground.service import Service
from playground.theme import style_sheet, theme

Build = Callable[[Service], Any]
HAS_SESSION = "() => document.querySelector('#sid textarea, #sid input')?.value"
"""In the page: true once it has its session; what is pressed before comes to nothing."""


def measuring_blocks(service: Service, *builds: Build) -> gr.Blocks:
    """As the whole page has it: tabs, a hidden session id, and the event after which it is known."""
    with gr.Blocks(title="measuring", analytics_enabled=False, fill_width=True) as page:
        sid = gr.Textbox(visible="hidden", elem_id="sid", label="Session")
        with gr.Column(elem_id="left"), gr.Tabs():
            tabs = [build(service) for build in builds]

        def known(request: gr.Request) -> str:
            return service.registry.open(request.query_params.get("s", "")).sid

        opened = page.load(known, None, [sid], api_visibility="private")
        for each in tabs:
            each.wire(sid, opened)
    page.queue(max_size=64, default_concurrency_limit=None)
    return page


def launch(page: gr.Blocks, port: int | None = None) -> str:
    """Open it without blocking; returns its address."""
    from starlette.middleware import Middleware

    from playground.headers import BodyLimit, SecureHeaders

    _, url, _ = page.launch(
        server_name="127.0.0.1",
        server_port=port,
        prevent_thread_lock=True,
        quiet=True,
        ssr_mode=False,
        run_history=False,
        theme=theme(),
        css=style_sheet(),
        app_kwargs={"middleware": [Middleware(SecureHeaders), Middleware(BodyLimit)]},
    )
    return str(url)


if __name__ == "__main__":
    import time

    from playground.race import RaceTab
    from playground.service import chat_of, load_from_settings
    from playground.settings import Settings
    from playground.sweep import SweepTab

    running = Service(Settings(max_ctx=1024), load_from_settings, chat_of)
    running.start()
    sys.stdout.write(launch(measuring_blocks(running, RaceTab, SweepTab), int(sys.argv[1])) + "\n")
    time.sleep(1e6)
