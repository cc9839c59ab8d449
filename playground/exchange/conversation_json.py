"""A whole conversation, all its branches included, as a JSON file, and back.

One object: `draftscope` is "conversation", `schema` the version, then name, times, system message, settings and
`messages`, one a line. A message names its `parent` by that one's place in the list, from 0, and parents come first;
`current` is the place of the last message shown. `tokens` are the ids an answer was generated with, of the checkpoint
named; `origins` has one letter a token: f(irst), d(raft), b(onus), c(orrection). The session id is not in it.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from playground.exchange.errors import ExchangeError
from playground.exchange.strict_json import Strict, parse, problem_of, require_known, text_of
from playground.store.checks import CONTENT_CHARS, LARGEST_ID, MESSAGE_TOKENS, MESSAGES, ORIGINS, check_talk, clean
from playground.store.errors import StoreError
from playground.store.values import Node, Said, Talk

SCHEMA = 1
LARGEST_FILE = 24 * 2**20
"""Bytes. What the store keeps of a conversation fits, unless it is mostly control characters."""
WHAT = "a conversation"
_BY_LETTER = {origin[0]: origin for origin in ORIGINS}

Text = Annotated[str, Field(max_length=CONTENT_CHARS)]
Id = Annotated[int, Field(ge=0, le=LARGEST_ID)]
Seconds = Annotated[float, Field(ge=0, lt=1e11)]
Value = bool | int | float | str | list[str] | None


class MessageFields(Strict):
    """One message of the file."""

    role: Literal["user", "assistant"]
    content: Text
    parent: int | None
    created: Seconds = 0.0
    tokens: Annotated[list[Id], Field(max_length=MESSAGE_TOKENS)] | None = None
    rest: Text = ""
    origins: Annotated[str, Field(max_length=MESSAGE_TOKENS, pattern=f"^[{''.join(_BY_LETTER)}]*$")] = ""
    checkpoint: Text = ""
    drafting: dict[str, str | int | float] = Field(default_factory=dict)


class ConversationFields(Strict):
    """The file."""

    draftscope: Literal["conversation"]
    schema_: Annotated[Literal[1], Field(alias="schema")]
    name: Text
    created: Seconds
    updated: Seconds
    system: Text
    settings: dict[str, Value]
    current: int | None
    messages: Annotated[list[MessageFields], Field(max_length=MESSAGES)]


def export_json(talk: Talk) -> bytes:
    """The file, in UTF-8. Raises `ExchangeError` when it would be larger than what an import takes."""
    places: dict[int | None, int] = {node.id: place for place, node in enumerate(talk.nodes)}
    head = {
        "draftscope": "conversation",
        "schema": SCHEMA,
        "name": talk.name,
        "created": talk.created,
        "updated": talk.updated,
        "system": talk.system,
        "settings": dict(talk.settings),
        "current": places.get(talk.current),
    }
    lines = [f" {_dumps(key)}: {_dumps(value)}," for key, value in head.items()]
    messages = ",\n".join("  " + _dumps(_fields(node, places)) for node in talk.nodes)
    lines += [f' "messages": [\n{messages}\n ]' if messages else ' "messages": []']
    data = clean("{\n" + "\n".join(lines) + "\n}\n").encode()
    if len(data) > LARGEST_FILE:
        raise ExchangeError(f"The conversation is larger than the {LARGEST_FILE // 2**20} MiB that a file may have.")
    return data


def import_json(data: bytes) -> Talk:
    """The conversation of a file. Raises `ExchangeError` with the line or the field that does not fit."""
    value = parse(text_of(data, LARGEST_FILE, WHAT))
    _require_ours(value)
    try:
        fields = ConversationFields.model_validate(value)
    except ValidationError as error:
        raise ExchangeError(f"The file is not a conversation as this version writes it: {problem_of(error)}.") from None
    for place, message in enumerate(fields.messages):
        if message.parent is not None and not 0 <= message.parent < place:
            raise ExchangeError(f"messages[{place}].parent is not the place of an earlier message.")
    return checked(
        Talk(
            name=fields.name,
            created=float(fields.created),
            updated=float(fields.updated),
            system=fields.system,
            settings=fields.settings,
            nodes=tuple(_node(place, message) for place, message in enumerate(fields.messages)),
            current=fields.current,
        )
    )


def checked(talk: Talk) -> Talk:
    """`talk` as the store takes it. Raises `ExchangeError`."""
    try:
        return check_talk(talk)
    except StoreError as error:
        raise ExchangeError(str(error)) from None


def _require_ours(value: Any) -> None:
    if not isinstance(value, dict) or value.get("draftscope") != "conversation":
        raise ExchangeError('The file is not a conversation of Draftscope: its draftscope must be "conversation".')
    require_known(value.get("schema"), SCHEMA, WHAT)


def _fields(node: Node, places: dict[int | None, int]) -> dict[str, object]:
    said = node.said
    every = {
        "role": said.role,
        "content": said.content,
        "parent": places.get(node.parent),
        "created": node.created,
        "tokens": None if said.tokens is None else list(said.tokens),
        "rest": said.rest,
        "origins": "".join(origin[0] for origin in said.origins),
        "checkpoint": said.checkpoint,
        "drafting": dict(said.drafting),
    }
    needed = ("role", "content", "parent")
    return {key: value for key, value in every.items() if key in needed or value not in (None, "", {})}


def _node(place: int, message: MessageFields) -> Node:
    said = Said(
        role=message.role,
        content=message.content,
        tokens=None if message.tokens is None else tuple(message.tokens),
        rest=message.rest,
        origins=tuple(_BY_LETTER[letter] for letter in message.origins),
        checkpoint=message.checkpoint,
        drafting=message.drafting,
    )
    return Node(place, message.parent, said, float(message.created))


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
