"""No path of this machine and no key leaves with a trace; what is neither stays as it is."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine import events as ev
from engine.trace import Trace, TraceHeader
from playground.api import Endpoints
from playground.exchange import export_trace, import_trace
from playground.exchange.trace_name import trace_name
from playground.exchange.trace_private import public
from playground.panels.timeline import Timeline


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("model:/home/jo/models/tiny", "model:tiny"),
        ("No file /home/jo/.cache/x.safetensors, try again.", "No file x.safetensors, try again."),
        (r"'C:\Users\Jo Smith\m.gguf' is no file", "'m.gguf' is no file"),
        (r"\\server\share\x", "x"),
        (f"{Path.home()}/secret/x: no", "x: no"),
        ("file:///srv/m/x", "x"),
        ("~/m/x and ../y", "x and y"),
        ("https://jo:pw@host/x", "https://host/x"),
        ("token=abc123, hf_abcdefghijklm", "token= [hidden], [hidden]"),
        ("Bearer abc.def", "Bearer [hidden]"),
    ],
)
def test_paths_and_keys_are_hidden(text: str, shown: str) -> None:
    assert public(text) == shown == public(shown)


@pytest.mark.parametrize(
    "text",
    [
        "model:org/name", "ngram", "and/or 3/4 / (4/5)", "see https://pytorch.org/docs/cuda.html#env for it",
        "Its context ends at 512 tokens; rounds go on without drafts.", "2.13.0+cpu", "cuda:0", "key: layers.0",
    ],
)  # fmt: skip
def test_what_is_neither_stays(text: str) -> None:
    assert public(text) == text


def test_a_file_holds_none() -> None:
    trace = Trace(TraceHeader("/srv/jo/ckpt", settings={"note": "/srv/jo/a", "n": 3, "l": ["/srv/jo/b", 1]}))
    trace.append(ev.DrafterEvent(drafter="model:/srv/jo/d", draft_len=5, action="set", pos=0, why="read /srv/jo/e"))
    trace.append(ev.ErrorEvent(where="send", message="no /srv/jo/f", state="FAILED"))
    data = export_trace(trace)
    assert b"jo" not in data.replace(b"json", b"")
    back = import_trace(data)
    assert back.header.checkpoint == "ckpt" and back.header.settings == {"note": "a", "n": 3, "l": ["b", 1]}
    drafter, error = back
    assert isinstance(drafter, ev.DrafterEvent) and (drafter.drafter, drafter.why) == ("model:d", "read e")
    assert isinstance(error, ev.ErrorEvent) and error.message == "no f"
    assert export_trace(back) == data


def test_panels_and_the_trace_of_a_script_hold_none_of_an_error_either() -> None:
    trace = Trace(TraceHeader("tiny"))
    trace.append(ev.ErrorEvent(where="send", message="no /srv/jo/f for hf_abcdefghijk", state="FAILED"))
    timeline = Timeline()
    for event in trace:
        timeline.add(event)
    assert [mark[-1] for mark in timeline.marks] == ["no f for [hidden]"]
    registry = SimpleNamespace(get=lambda sid: SimpleNamespace(trace=trace))
    (told,) = Endpoints(cast(Any, SimpleNamespace(registry=registry))).trace("x")
    assert told["message"] == "no f for [hidden]"


@pytest.mark.parametrize(
    ("name", "checkpoint", "slug"),
    [
        ("Très <b>long</b> / name " * 9, "x", "tr-s-b-long-b-name-tr-s-b-long-b-name-tr"),
        ("", "org/Model-7B", "model-7b"),
        ("", "/home/jo/my ckpt/", "my-ckpt"),
        ("", "", "session"),
        ("../..", "..", "session"),
    ],
)
def test_a_file_is_named_after_its_session_or_model(name: str, checkpoint: str, slug: str) -> None:
    when = 1_790_000_000.0
    assert re.fullmatch(rf"draftscope-trace-{slug}-2026-09-2\d-\d{{4}}\.jsonl\.gz", trace_name(name, checkpoint, when))
