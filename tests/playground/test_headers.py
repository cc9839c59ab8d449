"""Headers on every response, and a limit on request bodies whether or not they declare their length."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from playground.headers import BodyLimit, SecureHeaders
from playground.own_names import SENTENCE, OwnNames
from playground.server import launch_options
from playground.settings import Settings


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the whole body, then says how long it was."""
    seen, more = 0, True
    while more:
        message = await receive()
        seen, more = seen + len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})
    await send({"type": "http.response.body", "body": str(seen).encode()})


def run(work: Coroutine[Any, Any, None]) -> None:
    """On a thread of its own, for the browser tests leave an event loop running on this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


def call(
    app: Any, chunks: Iterable[bytes] = (b"",), headers: Iterable[tuple[bytes, bytes]] = (), path: str = "/"
) -> tuple[int, Any, bytes]:
    parts, sent = list(chunks), []

    async def receive() -> Message:
        body = parts.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(parts)}

    async def send(message: Message) -> None:
        sent.append(message)

    run(app({"type": "http", "path": path, "headers": list(headers)}, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(m.get("body", b"") for m in sent[1:])


def test_the_policy_keeps_the_page_to_its_origin() -> None:
    _, headers, _ = call(SecureHeaders(echo))
    policy = headers[b"content-security-policy"].decode()
    for rule in (
        "default-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "object-src 'none'",
        "frame-ancestors 'self'",
    ):
        assert rule in policy
    assert "http" not in policy and "*" not in policy
    assert headers[b"x-content-type-options"] == b"nosniff" and headers[b"referrer-policy"] == b"no-referrer"
    assert headers[b"x-own"] == b"1"


def test_a_space_may_be_framed() -> None:
    _, headers, _ = call(SecureHeaders(echo, framed=True))
    assert b"frame-ancestors" not in headers[b"content-security-policy"]


def test_bodies_up_to_the_limit_pass() -> None:
    assert call(BodyLimit(echo, 10), [b"12345", b"67890"]) == (200, {b"x-own": b"1"}, b"10")


def test_a_longer_body_is_refused_in_one_sentence() -> None:
    for chunks, headers in (
        ([b"12345", b"678901"], ()),
        ([b"12345", b"678901", b"more that is read and forgotten", b""], ()),
        ([b"12345", b"678901"], [(b"content-length", b"11")]),
        ([b""], [(b"content-length", b"11")]),
        ([b""], [(b"content-length", b"-1")]),
    ):
        status, _, body = call(BodyLimit(echo, 10), chunks, headers)
        assert status == 413 and body == b"The request is longer than 10 bytes; send less."


async def forgiving(scope: Scope, receive: Receive, send: Send) -> None:
    """An app that makes an answer of its own of an error in the body, as FastAPI does."""
    try:
        await echo(scope, receive, send)
    except Exception:  # noqa: BLE001
        await send({"type": "http.response.start", "status": 400, "headers": []})
        await send({"type": "http.response.body", "body": b"There was an error parsing the body"})


def test_an_app_that_answers_the_error_itself_does_not_hide_the_refusal() -> None:
    status, _, body = call(BodyLimit(forgiving, 10), [b"12345", b"678901", b"more"])
    assert status == 413 and body.endswith(b"send less.")


def test_a_page_for_one_machine_answers_to_that_machines_names_alone() -> None:
    app = OwnNames(echo, also="box.lan")
    for host in (
        "127.0.0.1:7860",
        "localhost",
        "LOCALHOST:7860",
        "app.localhost:1",
        "[::1]:7860",
        "10.0.0.5",
        "Box.lan:80",
    ):
        assert call(app, headers=[(b"host", host.encode())])[0] == 200, host
    for host in (
        "evil.example:7860",
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "[",
        "\xff",
    ):
        status, _, body = call(app, headers=[(b"host", host.encode("latin-1"))])
        assert (status, body.decode()) == (403, SENTENCE), host
    assert call(app, headers=[(b"host", b"localhost"), (b"host", b"evil.example")])[0] == 403


@pytest.mark.parametrize(("settings", "alone"), [({}, True), ({"host": "0.0.0.0"}, False), ({"share": True}, False)])
def test_a_page_for_others_answers_to_any_name(settings: dict[str, Any], alone: bool) -> None:
    stack = launch_options(Settings(**settings))["app_kwargs"]["middleware"]
    assert any(layer.cls is OwnNames for layer in stack) is alone
    assert stack[0].cls is SecureHeaders, "a refusal has the headers too"


def test_other_kinds_of_connection_pass_untouched() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    run(OwnNames(BodyLimit(SecureHeaders(app)))({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
    assert seen == ["lifespan"]
