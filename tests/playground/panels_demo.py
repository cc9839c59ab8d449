"""A page with the three components alone, fed by a made-up session. Run it to look at them:

python -m tests.playground.panels_demo 7871
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import plotly

from playground.panels import PanelFeed, figure_assets, panel_assets, token_assets
from tests.playground.plays import play
from tests.playground.synthetic import SyntheticSession
from tests.playground.words import WordTokenizer

PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


class Demo:
    """Builds the page; `feed` and `session` are those of the latest run."""

    def __init__(self, interval: float = 0.05, lose: int = 0, **script: int) -> None:
        self.interval, self.lose, self.script = interval, lose, script
        self.session = SyntheticSession(seed=3)
        self.feed = PanelFeed("demo", WordTokenizer())
        self.done = False

    def run(self) -> Iterator[str]:
        """One run: the events of two ticks may share a delta, as in the app. Every `lose`th delta is not sent."""
        self.session, self.done = SyntheticSession(seed=3), False
        self.feed = PanelFeed(f"demo-{time.monotonic_ns()}", WordTokenizer())
        for number, _ in enumerate(play(self.session, **self.script), start=1):
            delta = self.feed.update(self.session.trace.since(self.feed.next_seq), self.session.status())
            if not self.lose or number % self.lose:
                yield delta
            time.sleep(self.interval)
        self.done = True
        yield self.feed.update([], self.session.status(running=False))

    def resync(self, sid: str) -> str:
        """What a page asks for when it missed a delta."""
        return self.feed.full(self.session.status(running=not self.done)) if sid == self.feed.sid else ""

    def blocks(self) -> gr.Blocks:
        def resync(sid: str) -> str:
            return self.resync(sid)

        with gr.Blocks(analytics_enabled=False, title="panels") as demo:
            start = gr.Button("Run", elem_id="run")
            gr.HTML(**figure_assets().options())
            panels = gr.HTML(**panel_assets().options(), server_functions=[resync])
            gr.HTML(**token_assets().options())
            start.click(self.run, outputs=panels, show_progress="hidden", api_name=False)
        return demo

    def launch(self, port: int | None = None, block: bool = False) -> tuple[gr.Blocks, str]:
        gr.set_static_paths([PLOTLY_JS])
        demo = self.blocks()
        _, url, _ = demo.launch(
            server_name="127.0.0.1",
            server_port=port,
            prevent_thread_lock=not block,
            quiet=True,
            ssr_mode=False,
            run_history=False,
            head=f'<script src="/gradio_api/file={PLOTLY_JS}"></script>',
        )
        return demo, url


if __name__ == "__main__":
    Demo(turns=4, bursts=4, rounds=10).launch(int(sys.argv[1]), block=True)
