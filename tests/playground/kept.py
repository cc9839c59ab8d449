"""Conversations that a service keeps: how a test begins one, and what it says."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from playground.keeper import Keeper
from playground.limits import TurnOptions
from playground.service import Service, chat_of
from playground.settings import Settings
from playground.store import open_store
from tests.playground.fakes import FakeChat, FakeEngine

Start = Callable[..., Service]
OPTIONS = TurnOptions(max_new=8)
REAL = TurnOptions(max_new=8, drafter="none", draft_len=0)


@contextmanager
def starting(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Start]:
    """`start()` runs a service on one folder; a second one finds what the first one kept."""
    running: list[Service] = []

    def build(engine: Any = None, keeper: Keeper | None = None, **settings_of: Any) -> Service:
        for former in running:
            former.close()
        running.clear()
        settings = Settings(**settings_of)
        own = engine or FakeEngine(answer=5)
        if engine:
            patch.setattr(engine, "close", lambda: None)  # other tests share it
        chats = chat_of if engine else cast(Any, FakeChat)
        app = Service(settings, lambda *_: own, chats, keeper=keeper or Keeper(open_store(folder)))
        app.start()
        assert app.wait(10)
        running.append(app)
        return app

    yield build
    for app in running:
        app.close()


def said(app: Service, *messages: str, options: TurnOptions = OPTIONS) -> str:
    """A conversation of these messages; its id."""
    talk = app.registry.new()
    for message in messages:
        talk.send(message, options).result(20)
    return talk.sid


def packed(data: bytes) -> str:
    """A file as a page sends it; the same bytes at any time, for a test may be named after them."""
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()
