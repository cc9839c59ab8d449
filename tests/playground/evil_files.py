"""Files made by hand in which every text is one that tries to be more than text."""

from __future__ import annotations

import gzip
import json
import re

from playground.exchange import export_json, export_markdown, export_trace
from playground.store import Node, Said, Talk
from playground.store.checks import NAME_CHARS, SYSTEM_CHARS
from tests.playground.evil_corpus import CORPUS
from tests.playground.fakes import FakeTokenizer
from tests.playground.synthetic import SyntheticSession

SYSTEM = "\n\n".join(CORPUS)[:SYSTEM_CHARS]


def carried(text: str) -> str:
    """A text as a file of UTF-8 carries it."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def evil_talk(name: str) -> Talk:
    """Every text asked and answered, every text the beginning of a branch, every text in the system message."""
    said = [Said("assistant" if place % 2 else "user", text) for place, text in enumerate(CORPUS)]
    nodes = [Node(place, place - 1 if place else None, each, 1.0) for place, each in enumerate(said)]
    shown = len(nodes) - 1
    nodes += [Node(len(CORPUS) + place, 1, Said("user", text), 1.0) for place, text in enumerate(CORPUS)]
    settings = {"stop": [text[:40] for text in CORPUS[:8]], "drafter": CORPUS[3]}
    return Talk(carried(name)[:NAME_CHARS], 1.0, 2.0, SYSTEM, settings, tuple(nodes), shown)


def conversation_files() -> dict[str, bytes]:
    """Both forms, each under a name of its own."""
    return {
        "json": export_json(evil_talk("J <img src=x onerror=window.evil=1> ${window.evil=1}")),
        "md": export_markdown(evil_talk("M </title><svg onload=window.evil=1> {{window.evil=1}}")),
    }


def trace_file() -> bytes:
    """A trace whose messages, token texts, model, settings and versions are the texts."""
    session = SyntheticSession(1, max_ctx=200_000)
    for _ in CORPUS:
        session.turn(prompt=3)
        session.round()
        session.end_burst()
    seqs = [event.seq for event in session.trace if event.kind == "turn"]
    data = export_trace(session.trace, FakeTokenizer(), messages=dict(zip(seqs, CORPUS, strict=True)))
    first, *rest = data.decode().splitlines()
    header = json.loads(first)
    short = [carried(text)[:60] for text in CORPUS]
    header["checkpoint"] = CORPUS[3]
    header["settings"] = dict(zip(short[:40], short[40:80], strict=True))
    header["versions"] = dict(zip(short[40:80], short[:40], strict=True))
    header["pieces"] = {name: short[place % len(short)] for place, name in enumerate(header["pieces"])}
    return gzip.compress("\n".join([json.dumps(header), *rest]).encode())
