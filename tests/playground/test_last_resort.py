"""A request that breaks the app is answered with a sentence that tells nothing, and never twice."""

from __future__ import annotations

import pytest
from starlette.types import Receive, Scope, Send

from playground.headers import SecureHeaders
from playground.last_resort import SENTENCE, LastResort
from tests.playground.test_headers import call, echo


async def breaks(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("/home/ann/secret")


async def breaks_late(scope: Scope, receive: Receive, send: Send) -> None:
    await echo(scope, receive, send)
    raise RuntimeError("/home/ann/secret")


def test_an_error_is_a_sentence_with_all_headers() -> None:
    status, headers, body = call(SecureHeaders(LastResort(breaks)), path="/x")
    assert (status, body.decode()) == (500, SENTENCE)
    assert b"default-src 'self'" in headers[b"content-security-policy"]


def test_an_answer_that_has_begun_is_left_to_the_server() -> None:
    with pytest.raises(RuntimeError):
        call(LastResort(breaks_late))
    assert call(LastResort(echo), [b"abc"])[::2] == (200, b"3")
