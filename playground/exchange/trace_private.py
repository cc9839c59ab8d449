"""What a trace says in words or names, without the paths of this machine and without keys.

Everything else in a trace is a number, or a token of the conversation. A path is cut down to its last part: which
model drafted still matters to a reader, where it lay does not.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any, TypeVar

from engine import events as ev
from engine.trace import TraceHeader

E = TypeVar("E", bound=ev.Event)
SAID = ("drafter", "why", "where", "message")
"""Fields of events that the software wrote, and not the model."""
HIDDEN = "[hidden]"
_KEYS = re.compile(
    r"\b(?:hf|sk|ghp|github_pat)_[A-Za-z0-9_]{8,}|\b(Bearer|(?:api.?key|token|password)[=:])\s*[^\s'\",;]+",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"<>]+")
_PATH = re.compile(
    r"(?<![\w/.\\])(?:file://|~|\.{1,2}(?=[/\\]))?(?:/[^\s'\"<>|:;,()/]+)+/?"  # /a/b, ~/a/b, ./a/b
    r"|\b[A-Za-z]:[/\\][^'\"<>|:;,\n]*"  # C:\\a\\b
    r"|\\\\[^\s'\"<>|:;,]+"  # \\\\server\\a
)


def without_secrets(event: E) -> E:
    """The event; the same object where there was nothing to hide."""
    changes: dict[str, Any] = {}
    for name in SAID:
        text = getattr(event, name, "")
        if text and (shown := public(text)) != text:
            changes[name] = shown
    return dataclasses.replace(event, **changes) if changes else event


def header_without_secrets(header: TraceHeader) -> TraceHeader:
    """The header; its pieces are tokens, and stay."""
    settings = {public(str(name)): _plain(value) for name, value in header.settings.items()}
    versions = {public(name): public(version) for name, version in header.versions.items()}
    return dataclasses.replace(header, checkpoint=public(header.checkpoint), settings=settings, versions=versions)


def public(text: str) -> str:
    """`text` with paths cut to their last part and keys hidden; the addresses of pages stay."""
    text = _LOGIN.sub("", _KEYS.sub(lambda match: f"{match[1]} {HIDDEN}" if match[1] else HIDDEN, text))
    home = str(Path.home())
    if len(home) > 1:
        text = text.replace(home, "~")
    out, last = [], 0
    for page in _URL.finditer(text):
        if not page[0].startswith("file:"):
            out += [_PATH.sub(_last_part, text[last : page.start()]), page[0]]
            last = page.end()
    return "".join([*out, _PATH.sub(_last_part, text[last:])])


def _last_part(match: re.Match[str]) -> str:
    parts = [part for part in re.split(r"[/\\]", match[0]) if part not in ("", "~", ".", "..")]
    return parts[-1] if parts else match[0]


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return public(value)
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
