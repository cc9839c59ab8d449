"""What a trace's file is called: the session's name, where its owner gave it one, else the model; and the time."""

from __future__ import annotations

import re
import time

from playground.exchange.trace_private import public

LONGEST = 40
_OTHER = re.compile(r"[^a-z0-9]+")


def trace_name(name: str, checkpoint: str, when: float | None = None, *, messages: bool = False) -> str:
    """`draftscope-trace-NAME-2026-01-31-1405.jsonl.gz`; `when` in seconds since 1970, now if None. Of a message that a
    conversation began with nothing is in it: a trace is for others. That a file has `messages` its name says."""
    slug = _slug(name) or _slug(public(checkpoint).rstrip("/").rpartition("/")[2]) or "session"
    slug += "-with-messages" if messages else ""
    return f"draftscope-trace-{slug}-{time.strftime('%Y-%m-%d-%H%M', time.localtime(when))}.jsonl.gz"


def _slug(text: str) -> str:
    return _OTHER.sub("-", text.lower()).strip("-")[:LONGEST].strip("-")
