"""A running app on a fake engine, for tests of the server and of the page."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.playground.browser_tab import Tab

# A check that fails shows what it compared.
pytest.register_assert_rewrite("tests.playground.drawn_checks", "tests.playground.drawn_state_checks")

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext
    from playwright.sync_api import Page as PlaywrightPage

    from playground.keeper import Keeper
    from playground.service import Service
    from tests.playground.kept import Start
    from tests.playground.panel_visits import Visit
    from tests.playground.panels_demo import Demo


@dataclass
class RunningApp:
    """Where it listens, and what is behind it."""

    url: str
    service: Service


@pytest.fixture(scope="session", autouse=True)
def own_data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever a test keeps, programs that it starts included, never lands in the user's own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAFTSCOPE_DATA", str(tmp_path_factory.mktemp("data")))
        yield


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    load: Callable[..., Any],
    chat_of: Callable[..., Any] | None = None,
    load_s: float = 10,
    keeper: Keeper | None = None,
    **settings_of: Any,
) -> Iterator[RunningApp]:
    """Launch an app with this loader, on fake chats unless told otherwise, and wait until it is ready.

    Conversations are kept in memory unless a `keeper` is given, which the app closes.
    """
    from playground.launch import prepare_environment

    prepare_environment()
    from playground.exactness import check_session
    from playground.handlers import Handlers
    from playground.page import build_page
    from playground.server import open_page
    from playground.service import Service
    from playground.settings import Settings
    from tests.playground.fakes import FakeChat, fake_check

    settings = Settings(**{"port": free_port(), **settings_of})
    check = check_session if chat_of else fake_check
    service = Service(settings, load, cast(Any, chat_of or FakeChat), check, keeper)
    page = build_page(service, Handlers(service))
    open_page(page, settings)
    service.start()
    assert service.wait(load_s)
    yield RunningApp(f"http://127.0.0.1:{settings.port}/", service)
    service.close()
    page.close(verbose=False)


@contextmanager
def fake_service(places: int | None = None, **engine_of: Any) -> Iterator[Service]:
    """A service without a page, on a fake engine made anew at each load, with slots for so many `places`."""
    from playground.service import Service
    from playground.settings import Settings
    from tests.playground.fakes import FakeChat, FakeEngine

    def load(*_: object) -> Any:
        engine: Any = FakeEngine(**engine_of)
        if places is not None:
            engine.slots = SimpleNamespace(count=places, nbytes=0)
        return engine

    service = Service(Settings(), load, cast(Any, FakeChat))
    service.start()
    assert service.wait(10)
    try:
        yield service
    finally:
        service.close()


@contextmanager
def tiny_service(folder: Path, max_ctx: int) -> Iterator[Service]:
    """A service without a page, on a tiny checkpoint that has loaded."""
    from engine import load_engine
    from playground.service import Service, chat_of
    from playground.settings import Settings

    def load(settings: Settings, progress: Any) -> Any:
        return load_engine(str(folder), device="cpu", dtype="float32", max_ctx=max_ctx, progress=progress)

    service = Service(Settings(), load, chat_of)
    service.start()
    assert service.wait(60)
    yield service
    service.close()


@pytest.fixture(scope="session")
def fake_app() -> Iterator[RunningApp]:
    """An app whose answers are 120 numbered words at 50 rounds a second."""
    from tests.playground.fakes import FakeEngine

    with running(lambda settings, progress: FakeEngine(pace=0.02, answer=120)) as app:
        yield app


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """`start()` runs a service on one folder; a second one finds what the first one kept."""
    from tests.playground.kept import starting

    with starting(tmp_path, monkeypatch) as build:
        yield build


CHROMIUM = "/usr/bin/chromium"
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Debian's Chromium instead of a downloaded one."""
    return {"executable_path": CHROMIUM, "args": list(CHROMIUM_FLAGS), "headless": True}


@pytest.fixture
def tab(context: BrowserContext) -> Iterator[Callable[..., Tab]]:
    """`tab(url)` opens a page. A request to another origin or an error of a script fails the test."""
    wrong: list[str] = []

    def watch(page: PlaywrightPage) -> None:
        page.on("pageerror", lambda error: wrong.append(f"script error: {error}"))
        page.on("request", lambda request: wrong.append(request.url) if foreign(request.url) else None)

    def foreign(url: str) -> bool:
        return not url.startswith(("http://127.0.0.1:", "data:", "blob:"))

    context.on("page", watch)

    def open_tab(url: str, **viewport: int) -> Tab:
        page = context.new_page()
        if viewport:
            page.set_viewport_size({"width": viewport["width"], "height": viewport["height"]})
        page.goto(url)
        return Tab(page)

    yield open_tab
    assert wrong == []


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """`visit(demo, width=390)` opens the panels alone, on a made-up session."""
    from tests.playground.panel_visits import Visit

    visits: list[Visit] = []

    def start(demo: Demo, **options: int) -> Visit:
        visits.append(Visit(browser, demo, **options))
        return visits[-1]

    yield start
    for each in visits:
        each.close()
