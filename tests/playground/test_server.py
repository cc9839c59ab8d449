"""The app over HTTP: headers, the local Plotly, what is switched off, and the named endpoints."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from engine.sampling import SamplingParams
from playground.endpoint_options import OWN
from playground.limits import OPTIONS
from playground.sentences import BUSY
from tests.playground.conftest import RunningApp


@pytest.fixture(scope="module")
def client(fake_app: RunningApp) -> Client:
    return Client(fake_app.url, verbose=False, analytics_enabled=False)


def test_the_page_has_the_headers_and_nothing_of_another_origin(fake_app: RunningApp) -> None:
    page = httpx.get(fake_app.url)
    assert page.status_code == 200 and "default-src 'self'" in page.headers["content-security-policy"]
    config = json.loads(re.search(r"window\.gradio_config = (\{.*?\});</script>", page.text, re.S)[1])  # type: ignore[index]
    assert config["run_history"] is False and config["analytics_enabled"] is False
    assert not config.get("enable_monitoring") and config.get("ssr_mode", False) is False
    assert "fonts.googleapis" not in page.text
    assert page.headers["content-encoding"] == "br" and page.num_bytes_downloaded < 110_000
    plain = httpx.get(fake_app.url, headers={"accept-encoding": "gzip"})
    assert plain.headers["content-encoding"] == "gzip" and plain.num_bytes_downloaded < 160_000


def test_plotly_comes_from_here_and_stays_in_the_browser_cache(fake_app: RunningApp) -> None:
    path = re.search(r"assets-local/plotly-[0-9a-f]{12}\.min\.js", httpx.get(fake_app.url).text)
    assert path is not None
    script = httpx.get(fake_app.url + path[0], headers={"accept-encoding": "br"})
    assert script.status_code == 200 and "immutable" in script.headers["cache-control"]
    assert script.headers["content-encoding"] == "br" and script.num_bytes_downloaded < 1_600_000
    assert "plotly.js v" in script.text[:200]


@pytest.mark.parametrize("path", ["gradio_api/file=/etc/passwd", "gradio_api/file=app.py", "monitoring"])
def test_files_and_monitoring_are_closed(fake_app: RunningApp, path: str) -> None:
    assert httpx.get(fake_app.url + path).status_code in (403, 404)


@pytest.mark.parametrize("path", ["gradio_api/upload", "gradio_api/upload/", "gradio_api/upload_progress?upload_id=x"])
def test_no_file_can_be_left_here(fake_app: RunningApp, path: str) -> None:
    answer = httpx.post(fake_app.url + path, files={"files": ("f.txt", b"{}")})
    assert answer.status_code == 403 and answer.text == "No files are taken here."


def test_a_call_that_fits_no_endpoint_is_one_sentence(fake_app: RunningApp, caplog: pytest.LogCaptureFixture) -> None:
    answer = httpx.post(fake_app.url + "gradio_api/call/v2/chat", json={"foo": 1})
    assert answer.status_code == 422 and "foo" in answer.json()["error"]
    answer = httpx.post(fake_app.url + "gradio_api/call/v2/nosuch", json={"message": "x"})
    assert answer.status_code == 422 and "nosuch" in answer.json()["error"]
    assert "Traceback" not in caplog.text


def test_a_file_in_place_of_an_id_is_one_sentence(fake_app: RunningApp) -> None:
    file = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
    call = httpx.post(fake_app.url + "gradio_api/call/trace", json={"data": [file]}).json()
    stream = httpx.get(fake_app.url + f"gradio_api/call/trace/{call['event_id']}", timeout=30).text
    assert "event: error" in stream and "No files are taken here" in stream


def test_a_huge_request_is_refused(fake_app: RunningApp) -> None:
    answer = httpx.post(fake_app.url + "gradio_api/call/chat", content=b"x" * 2_000_000)
    assert answer.status_code == 413 and "send less" in answer.text


def test_chat_continue_rewind_and_trace(client: Client) -> None:
    first = client.predict("hello you", api_name="/chat", max_new=20)
    assert set(first) >= {"session", "text", "telemetry", "reason"}
    assert first["reason"] == "length" and first["telemetry"]["rounds"] > 0
    sid = first["session"]
    more = client.predict(sid, api_name="/continue_turn", max_new=15)
    assert more["session"] == sid and more["text"].strip()
    events = client.predict(sid, api_name="/trace")
    assert [e["seq"] for e in events] == list(range(len(events)))
    assert {"turn", "prefill", "round", "checkpoint", "burst", "pending"} <= {e["kind"] for e in events}
    second = client.predict("and again", sid, api_name="/chat", max_new=5, drafter="none", draft_len=2)
    assert second["session"] == sid
    point = max(e["pos"] for e in client.predict(sid, api_name="/trace") if e["kind"] == "checkpoint")
    back = client.predict(sid, point, api_name="/rewind")
    assert back["pos"] == point and [m["role"] for m in back["messages"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"message": ""}, "empty"),
        ({"message": 123}, "The message must be text"),
        ({"message": "x" * 40_000}, "40,000 characters"),
        ({"message": "x", "session_id": "nope"}, "not a session id"),
        ({"message": "x", "session_id": "0" * 32}, "No session has this id"),
        ({"message": "x", "max_new": 0}, "Max new tokens"),
        ({"message": "x", "draft_len": 8}, "Draft length K must be a whole number from 0 to 7"),
        ({"message": "x", "drafter": "oracle"}, "Drafter must be one of none, ngram"),
        ({"message": "x", "drafter": "model:other"}, "Drafter must be one of none, ngram"),
        ({"message": "x", "burst": 0}, "Burst size"),
        ({"message": "x", "overshoot": "burn"}, "keep or trim"),
    ],
)
def test_a_bad_call_is_one_sentence(client: Client, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(AppError, match=says) as caught:
        client.predict(api_name="/chat", **arguments)
    assert "Traceback" not in str(caught.value)


def test_rewind_only_goes_to_rewind_points(client: Client) -> None:
    sid = client.predict("hello", api_name="/chat", max_new=5)["session"]
    with pytest.raises(AppError, match="no rewind point at 999"):
        client.predict(sid, 999, api_name="/rewind")
    with pytest.raises(AppError, match="Position must be"):
        client.predict(sid, -1, api_name="/rewind")
    assert client.predict("more", sid, api_name="/chat", max_new=5)["messages"] == 4


def test_regenerate_edit_and_continue_after_a_rewind(client: Client) -> None:
    first = client.predict("hello you", api_name="/chat", max_new=20, stop=["END", "\n\n"], system="Be brief.")
    sid = first["session"]
    again = client.predict(sid, api_name="/regenerate", max_new=15)
    assert (again["session"], again["messages"], again["reason"]) == (sid, 2, "length")
    client.predict("more", sid, api_name="/chat", max_new=5)
    edited = client.predict(sid, 0, "hello there", api_name="/edit", max_new=5)
    assert edited["messages"] == 2
    point = [e["pos"] for e in client.predict(sid, api_name="/trace") if e["kind"] == "checkpoint"][-1]
    assert len(client.predict(sid, point, api_name="/rewind")["messages"]) == 1
    assert client.predict(sid, api_name="/continue_turn", max_new=5)["messages"] == 2


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("/regenerate", {"session_id": "0" * 32}, "No session has this id"),
        ("/regenerate", {"session_id": "nope"}, "not a session id"),
        ("/edit", {"turn": 1, "message": "x"}, "Message must be a whole number from 0 to 0"),
        ("/edit", {"turn": -1, "message": "x"}, "Message must be"),
        ("/edit", {"turn": 0, "message": " "}, "empty"),
        ("/chat", {"message": "x", "stop": [""]}, "is empty"),
        ("/chat", {"message": "x", "stop": ["x" * 10_000]}, "10,000 characters"),
        ("/chat", {"message": "x", "system": "x" * 40_000}, "40,000 characters"),
        ("/regenerate", {"stop": ["x"] * 17}, "at most 16"),
    ],
)
def test_a_bad_call_on_a_session_is_one_sentence(
    client: Client, name: str, arguments: dict[str, Any], says: str
) -> None:
    sid = client.predict("hello", api_name="/chat", max_new=5)["session"]
    with pytest.raises(AppError, match=says) as caught:
        client.predict(api_name=name, **{"session_id": sid} | arguments)
    assert "Traceback" not in str(caught.value)


def test_a_plain_http_call_may_leave_out_what_has_a_default(fake_app: RunningApp) -> None:
    call = httpx.post(fake_app.url + "gradio_api/call/chat", json={"data": ["hello", ""]}).json()
    stream = httpx.get(fake_app.url + f"gradio_api/call/chat/{call['event_id']}", timeout=30).text
    assert "event: complete" in stream
    answer = json.loads(stream.split("data: ", 1)[1].split("\n")[0])[0]
    assert answer["reason"] == "stop" and len(answer["session"]) == 32


SAMPLING = {"temperature": 0.8, "top_k": 40, "top_p": 0.9, "min_p": 0.01, "repetition_penalty": 1.1, "seed": 2**64 - 1}


def test_every_call_that_answers_takes_the_same_options_and_is_greedy_without_them(client: Client) -> None:
    named = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    listed = {name: [p["parameter_name"] for p in named[name]["parameters"]] for name in named}
    assert listed["/chat"] == ["message", "session_id", *OPTIONS]
    turn = [name for name in OPTIONS if name not in OWN]
    assert listed["/continue_turn"] == listed["/regenerate"] == ["session_id", *turn]
    assert listed["/edit"] == ["session_id", "turn", "message", *turn]
    types = {p["parameter_name"]: p["python_type"]["type"] for p in named["/chat"]["parameters"]}
    assert (types["temperature"], types["top_k"], types["verify"]) == ("float", "int", "str")


def test_sampling_reaches_the_turn_of_every_call(fake_app: RunningApp, client: Client) -> None:
    sid = client.predict("hello you", api_name="/chat", max_new=5, **SAMPLING)["session"]
    chat: Any = fake_app.service.registry.get(sid).chat
    assert (chat.sampling, chat.verify) == (SamplingParams(**SAMPLING), "rejection")
    assert fake_app.service.registry.get(sid).view().outcome.seed == 2**64 - 1  # type: ignore[union-attr]
    client.predict(sid, api_name="/continue_turn", max_new=5)
    assert chat.sampling == SamplingParams(temperature=0.0), "what a call leaves out is greedy"
    client.predict(sid, api_name="/regenerate", max_new=5, temperature=0.5, verify="coupled")
    assert (chat.sampling, chat.verify) == (SamplingParams(temperature=0.5), "coupled")
    assert fake_app.service.registry.get(sid).view().outcome.seed == chat.session.seed  # type: ignore[union-attr]
    client.predict(sid, 0, "hello", api_name="/edit", max_new=5, presence_penalty=1.5)
    assert chat.sampling == SamplingParams(temperature=0.0, presence_penalty=1.5)
    for name in ("/continue_turn", "/regenerate"):
        with pytest.raises(AppError, match="top_p must be above 0; use temperature 0"):
            client.predict(sid, api_name=name, top_p=0)


def test_a_seed_is_exact_over_plain_http(fake_app: RunningApp) -> None:
    data = ["hello", "", 5, None, None, 32, "keep", None, None, 0.7, 0, 1, 0, 1, 0, 0, 64, 2**64 - 1]
    call = httpx.post(fake_app.url + "gradio_api/call/chat", json={"data": data}).json()
    stream = httpx.get(fake_app.url + f"gradio_api/call/chat/{call['event_id']}", timeout=30).text
    answer = json.loads(stream.split("data: ", 1)[1].split("\n")[0])[0]
    assert fake_app.service.registry.get(answer["session"]).options.seed == 2**64 - 1  # type: ignore[union-attr]


def test_check_returns_the_event(fake_app: RunningApp, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.0)
    sid = client.predict("hello", api_name="/chat", max_new=20)["session"]
    done = client.predict(sid, api_name="/check")
    assert done["kind"] == "check" and done["identical"] is True and done["tokens"] > 10
    monkeypatch.setattr(fake_app.service.engine, "differs_at", 7)
    found = client.predict(sid, api_name="/check")
    assert (found["identical"], found["index"], found["expected"], found["actual"]) == (False, 7, 10, 11)
    assert client.predict(sid, api_name="/trace")[-1] == found
    with pytest.raises(AppError, match="not a session id"):
        client.predict("", api_name="/check")


def test_racing_calls_on_one_session_have_one_winner(fake_app: RunningApp, client: Client) -> None:
    sid = client.predict("hello", api_name="/chat", max_new=5)["session"]
    outcomes: list[str] = []

    def race(number: int) -> None:
        try:
            outcomes.append(client.predict(f"message {number}", sid, api_name="/chat", max_new=60)["reason"])
        except AppError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=race, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == sorted(["length", BUSY, BUSY])
    assert len(fake_app.service.registry.get(sid).view().messages) == 4


def test_the_pages_own_handlers_take_no_public_name(client: Client) -> None:
    named = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert set(named) == {"/chat", "/continue_turn", "/regenerate", "/edit", "/rewind", "/check", "/trace"}
