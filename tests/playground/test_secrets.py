"""Every kind of route has the headers and a limit, and no answer of any of them tells a path or a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from playground.closed_routes import CLOSED
from tests.playground.conftest import RunningApp, running
from tests.playground.fakes import FakeEngine

TOKEN = "hf_" + "Q7secretsecretsecretsecretsecret"
HOME = "ann-lee-private"
"""A folder that nobody who visits should read of."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    folder = tmp_path_factory.mktemp(HOME) / "models" / "tiny"
    folder.mkdir(parents=True)

    def load(settings: Any, progress: Any) -> Any:
        engine = FakeEngine(answer=12)
        engine.folder = folder  # type: ignore[attr-defined]
        return engine

    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "DRAFTSCOPE_SECRET"):
            patch.setenv(name, TOKEN)
        patch.setenv("DRAFTSCOPE_DATA", str(folder.parent / "data"))
        # As for an app that others reach; who started it for themselves reads their own paths.
        patch.setattr("playground.models.allowed.reachable_by_others", lambda settings: True)
        with running(load, None, model=str(folder), models="smollm2-1.7b") as app:
            yield app


def broken(error: Exception) -> Any:
    """A chat on which every call fails with that."""

    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise error

    return Broken()


GETS = (
    "", "?__theme=dark", "config", "theme.css", "monitoring", "monitoring/summary", "login_check", "token",
    "robots.txt", "manifest.json", "favicon.ico", "assets-local/none.js", "gradio_api/info",
    "gradio_api/openapi.json", "gradio_api/app_id", "gradio_api/startup-events", "gradio_api/heartbeat/none",
    "gradio_api/queue/status", "gradio_api/queue/data?session_hash=none", "gradio_api/file=/etc/passwd",
    "gradio_api/file=app.py", "gradio_api/file=../../etc/passwd", "gradio_api/file=https://evil.example/x",
    "gradio_api/proxy=https://evil.example", "gradio_api/stream/none/none/none/playlist.m3u8",
    "gradio_api/call/chat/none", "gradio_api/dev/reload", "gradio_api/deep_link", "gradio_api/vibe-code",
    "gradio_api/mcp/sse", "static/fonts/none", "svelte/none.js", "no/such/path", "..%2f..%2fetc/passwd", "docs",
    "redoc", "openapi.json",
)  # fmt: skip
POSTS = (
    "gradio_api/call/chat", "gradio_api/call/none", "gradio_api/call/v2/chat", "gradio_api/queue/join",
    "gradio_api/run/predict", "gradio_api/api/chat", "gradio_api/cancel", "gradio_api/reset",
    "gradio_api/component_server", "gradio_api/upload", "gradio_api/process_recording", "gradio_api/vibe-code",
    "gradio_api/undo-vibe-edit", "login", "no/such/path",
)  # fmt: skip
READ = ("gradio_api/call/chat", "gradio_api/queue/join", "gradio_api/component_server", "gradio_api/run/predict")
"""Those that do read a body."""
BODIES: tuple[Any, ...] = (
    b"", b"{", b"null", b"[]", b'{"data": null}', b'{"data": [1, {"a": NaN}]}',
    b'{"data": ["x", "' + b"0" * 32 + b'"]}',
    b'{"fn_index": 999999, "data": [], "session_hash": "x"}', b'{"fn_index": 0, "data": [], "session_hash": "x"}',
    b'{"session_hash":"x","component_id":1,"fn_name":"__class__","data":[]}', b"\xff\xfe", b"[" * 20_000,
    b'{"data": [{"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}]}',
)  # fmt: skip


def telling(app: RunningApp, text: str) -> list[str]:
    """What of this machine stands in an answer."""
    found = [word for word in (TOKEN, HOME, "Traceback", 'File "', "/site-packages", "root:x:") if word in text]
    return found + re.findall(r"(?:/home|/root|/tmp|/work|/usr/lib)/[\w./-]+", text)


def ask(client: httpx.Client, method: str, path: str, **more: Any) -> tuple[httpx.Response, str]:
    """The answer and the beginning of its body; a stream is not waited for."""
    with client.stream(method, path, **more) as answer:
        body = b""
        try:
            for part in answer.iter_raw():
                body += part
                if len(body) > 400_000 or "event-stream" in answer.headers.get("content-type", ""):
                    break
        except httpx.ReadTimeout:
            pass
        shown = "" if answer.headers.get("content-encoding") else body.decode("utf-8", "replace")
        return answer, f"{dict(answer.headers)} {shown}"


@pytest.fixture
def client(app: RunningApp) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=app.url, timeout=1.5, headers={"accept-encoding": "identity"}) as client:
        yield client


def test_every_route_has_the_headers_and_tells_nothing(app: RunningApp, client: httpx.Client) -> None:
    bad: list[str] = []
    for path in GETS:
        try:
            answer, text = ask(client, "GET", path)
        except httpx.ReadTimeout:
            continue  # a stream with nothing to say yet
        policy = answer.headers.get("content-security-policy", "")
        if "default-src 'self'" not in policy or answer.headers.get("x-content-type-options") != "nosniff":
            bad.append(f"{path}: no headers")
        if len(answer.headers.get_list("content-security-policy")) > 1:
            bad.append(f"{path}: two policies")
        if answer.status_code >= 500 or answer.headers.get("access-control-allow-origin") == "*":
            bad.append(f"{path}: {answer.status_code} {answer.headers.get('access-control-allow-origin')}")
        if "evil.example" in answer.headers.get("location", ""):
            bad.append(f"{path}: leads away")
        bad += [f"{path}: {word}" for word in telling(app, text)]
    assert not bad, "\n".join(bad)


def test_bodies_of_any_form_are_refused_without_telling_anything(app: RunningApp, client: httpx.Client) -> None:
    bad: list[str] = []
    for path in POSTS:
        for body in BODIES:
            try:
                answer, text = ask(client, "POST", path, content=body, headers={"content-type": "application/json"})
            except httpx.ReadError:
                bad.append(f"{path} {body[:30]!r}: reset")
                continue
            bad += [f"{path} {body[:30]!r}: {word}" for word in telling(app, text)]
            if "default-src" not in answer.headers.get("content-security-policy", ""):
                bad.append(f"{path}: {answer.status_code} without headers")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("path", POSTS)
def test_bodies_are_limited_on_every_route(client: httpx.Client, path: str) -> None:
    large = b'{"data": ["' + b"x" * 1_100_000 + b'"]}'

    def parts() -> Iterator[bytes]:
        for at in range(0, len(large), 65536):
            yield large[at : at + 65536]

    for content in (large, parts()):
        try:
            answer = client.post(path, content=content, headers={"content-type": "application/json"})
        except (httpx.ReadError, httpx.WriteError):
            assert path.endswith(CLOSED), "a closed route answers before it has read anything"
            continue
        assert 400 <= answer.status_code < 500, answer.status_code
        if answer.status_code == 413:
            assert answer.text.endswith("send less.")
        else:
            assert path not in READ


def test_another_origin_may_not_read_or_send(client: httpx.Client) -> None:
    for origin in ("https://evil.example", "null"):
        for method, path in (("GET", "config"), ("POST", "gradio_api/call/chat"), ("OPTIONS", "gradio_api/call/chat")):
            answer = client.request(method, path, headers={"origin": origin}, content=b'{"data": ["x"]}')
            assert answer.headers.get("access-control-allow-origin") in (None, ""), (origin, path)


def test_a_name_that_leads_here_from_elsewhere_opens_nothing(client: httpx.Client) -> None:
    for method, path in (("GET", ""), ("GET", "config"), ("POST", "gradio_api/component_server")):
        answer = client.request(method, path, headers={"host": "evil.example:7860"}, content=b"{}")
        assert answer.status_code == 403 and "for its own machine alone" in answer.text
        assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_errors_of_a_turn_tell_no_path_and_no_token(app: RunningApp, client: httpx.Client) -> None:
    chat_of = app.service._chat_of
    errors = (OSError(2, "No such file", f"/home/{HOME}/x"), RuntimeError(f"401 for {TOKEN} at /srv/models"))
    try:
        for error in errors:
            app.service._chat_of = lambda engine, error=error: broken(error)
            call = client.post("gradio_api/call/chat", json={"data": ["hello", ""]}).json()
            text = httpx.get(f"{app.url}gradio_api/call/chat/{call['event_id']}", timeout=20).text
            assert "event: error" in text and "Something went wrong" in text
            assert telling(app, text) == []
    finally:
        app.service._chat_of = chat_of


def test_the_page_and_its_values_tell_no_path(app: RunningApp) -> None:
    page = httpx.get(app.url).text
    assert telling(app, page) == []
    config = re.search(r"window\.gradio_config = (\{.*?\});</script>", page, re.S)
    assert config is not None and json.loads(config[1])["components"]
    assert app.service.settings.model.count(HOME) == 1, "there was something to tell"
    assert not list(Path(app.service.settings.model).glob("*"))


def test_teeth_a_telling_answer_is_seen(app: RunningApp) -> None:
    assert telling(app, f"failed at /home/{HOME}/x with {TOKEN}") == [TOKEN, HOME, f"/home/{HOME}/x"]
