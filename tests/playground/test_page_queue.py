"""The page's queue: how often it looks for calls is set on an attribute of Gradio's, which has to be there."""

from __future__ import annotations

import gradio as gr

from playground.handlers import Handlers
from playground.page import QUEUE_LOOK_S, build_page
from tests.playground.conftest import fake_service


def test_the_queue_looks_less_often_than_gradio_would() -> None:
    own = vars(gr.Blocks().queue()._queue)
    assert own["sleep_when_free"] < QUEUE_LOOK_S, "an attribute that Gradio reads, not one made here"
    with fake_service() as app:
        assert build_page(app, Handlers(app))._queue.sleep_when_free == QUEUE_LOOK_S
