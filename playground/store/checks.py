"""What may be kept, and how much of it: every value is checked before it reaches the database or leaves a file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from playground.settings import MESSAGE_CHARS
from playground.store.errors import StoreError
from playground.store.values import Said, Talk, short_line

if TYPE_CHECKING:
    from engine.events import Origin

NAME_CHARS = 120
SYSTEM_CHARS = MESSAGE_CHARS
CONTENT_CHARS = 1_000_000
"""Of one message: an answer of a very long context still fits."""
MESSAGE_TOKENS = 262_144
MESSAGES = 5_000
"""In one conversation, on all branches."""
TALK_BYTES = 16 * 2**20
"""UTF-8 bytes of one conversation's messages, on all branches."""
TRACE_BYTES = 16 * 2**20
"""Of one compressed trace."""
CONVERSATIONS = 10_000
SEARCH_CHARS = 200
SETTINGS = 64
SETTING_CHARS = 4_000
LARGEST_ID = 2**31 - 1
ORIGINS: tuple[Origin, ...] = ("first", "draft", "bonus", "correction")
_SID = re.compile(r"[0-9a-f]{32}")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` with lone surrogates replaced: no file of UTF-8 can carry them."""
    return _SURROGATE.sub("\ufffd", text)


def check_sid(sid: object) -> str:
    """A session id. Raises `StoreError` for anything else."""
    if not isinstance(sid, str) or not _SID.fullmatch(sid):
        raise StoreError("That is not a session id; open the conversation from the list.")
    return sid


def check_name(name: object) -> str:
    """A name as one line without control characters; '' is no name. Raises `StoreError` when it is too long."""
    text = _text("The name", name, NAME_CHARS)
    return short_line(text, NAME_CHARS)


def check_system(system: object) -> str:
    """A system message. Raises `StoreError` when it is no text or too long."""
    return _text("The system message", system, SYSTEM_CHARS)


def check_settings(settings: object) -> dict[str, Any]:
    """Settings as a flat map of short names to plain values. Raises `StoreError` for anything else."""
    if not isinstance(settings, Mapping) or len(settings) > SETTINGS:
        raise StoreError(f"Settings must be at most {SETTINGS} names with plain values.")
    out: dict[str, Any] = {}
    for key, value in settings.items():
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise StoreError("A setting's name must be a short word of small letters.")
        out[key] = _setting(key, value)
    return out


def check_path(path: Sequence[Said]) -> list[Said]:
    """Messages in turn, a question first. Raises `StoreError` naming the first that does not fit, from 1."""
    if len(path) > MESSAGES:
        raise StoreError(f"The conversation has {len(path):,} messages, but at most {MESSAGES:,} are kept.")
    out = [check_said(said, f"Message {number}") for number, said in enumerate(path, start=1)]
    for number, said in enumerate(out, start=1):
        if said.role != ("user", "assistant")[(number - 1) % 2]:
            raise StoreError(f"Message {number} is out of turn: questions and answers take turns, a question first.")
    return out


def check_said(said: Said, what: str = "A message") -> Said:
    """A message as it is kept. Raises `StoreError` that begins with `what`."""
    if said.role not in ("user", "assistant"):
        raise StoreError(f"{what} has a role that is neither user nor assistant.")
    content = _text(what, said.content, CONTENT_CHARS)
    rest = _text(f"The rest of {what.lower()}", said.rest, CONTENT_CHARS)
    tokens = None if said.tokens is None else tuple(said.tokens)
    if tokens is not None and not (len(tokens) <= MESSAGE_TOKENS and all(_is_id(token) for token in tokens)):
        raise StoreError(f"{what} has too many tokens, or one that is no token id.")
    origins = tuple(said.origins)
    if origins and (len(origins) != len(tokens or ()) or any(origin not in ORIGINS for origin in origins)):
        raise StoreError(f"{what} has origins that do not belong to its tokens.")
    checkpoint = _text(f"The checkpoint of {what.lower()}", said.checkpoint, SETTING_CHARS)
    drafting = check_settings(said.drafting)
    return replace(
        said, content=content, rest=rest, tokens=tokens, origins=origins, checkpoint=checkpoint, drafting=drafting
    )


def check_talk(talk: Talk) -> Talk:
    """A whole conversation as it is kept. Raises `StoreError` for the first thing that does not fit."""
    if len(talk.nodes) > MESSAGES:
        raise StoreError(f"The conversation has {len(talk.nodes):,} messages, but at most {MESSAGES:,} are kept.")
    roles: dict[int | None, str] = {None: "assistant"}
    nodes = []
    for number, node in enumerate(talk.nodes, start=1):
        what = f"Message {number}"
        if node.id in roles or node.parent not in roles:
            raise StoreError(f"{what} does not follow a message that comes before it.")
        if node.said.role == roles[node.parent]:
            raise StoreError(f"{what} is out of turn: questions and answers take turns, a question first.")
        roles[node.id] = node.said.role
        nodes.append(replace(node, said=check_said(node.said, what)))
    if talk.current not in roles:
        raise StoreError("The current message is none of the conversation's.")
    if sum(size_of(node.said) for node in nodes) > TALK_BYTES:
        raise StoreError(f"The conversation is larger than the {TALK_BYTES // 2**20} MiB that are kept.")
    for seconds in (talk.created, talk.updated, *(node.created for node in nodes)):
        if type(seconds) not in (int, float) or not 0 <= seconds < 1e11:
            raise StoreError("A time of the conversation is not one of seconds since 1970.")
    return replace(
        talk,
        name=check_name(talk.name),
        system=check_system(talk.system),
        settings=check_settings(talk.settings),
        nodes=tuple(nodes),
    )


def size_of(said: Said) -> int:
    """UTF-8 bytes of a message's texts, and four for each token."""
    texts = said.content, said.rest, said.checkpoint, json.dumps(dict(said.drafting)) if said.drafting else ""
    return sum(len(text.encode()) for text in texts) + 4 * len(said.tokens or ())


def _setting(key: str, value: object) -> object:
    if value is None or isinstance(value, int):
        if value is None or abs(value) < 2**64:  # a seed has 64 bits
            return value
    elif isinstance(value, float):
        if math.isfinite(value):
            return value
    elif isinstance(value, str):
        return _text(f"Setting {key}", value, SETTING_CHARS)
    elif isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        items = [clean(item) for item in value]
        if len(json.dumps(items)) <= SETTING_CHARS:
            return items
    raise StoreError(f"Setting {key} is not a plain value, or is too large.")


def _text(what: str, text: object, most: int) -> str:
    if not isinstance(text, str):
        raise StoreError(f"{what} must be text.")
    if len(text) > most:
        raise StoreError(f"{what} has {len(text):,} characters, but at most {most:,} are kept.")
    return clean(text)


def _is_id(token: object) -> bool:
    return type(token) is int and 0 <= token <= LARGEST_ID
