"""A kept conversation as a file to take along, and a file from elsewhere as a conversation to keep."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from dataclasses import replace
from typing import Any

from playground.exchange import ExchangeError, export_json, export_markdown, import_json, import_markdown
from playground.names import public_name, short_reference
from playground.store import Node, Talk

LARGEST = 8 * 2**20
"""Bytes of a file that a page may bring, unpacked."""
FORMS = {"json": (export_json, "json", "application/json"), "markdown": (export_markdown, "md", "text/markdown")}
_SLUG = re.compile(r"[^a-z0-9]+")


def file_of(talk: Talk, form: object) -> dict[str, str]:
    """A download: `name`, `type` and `text`. No path of this machine is in it. Raises `ExchangeError`."""
    if not isinstance(form, str) or form not in FORMS:
        raise ExchangeError("A conversation can be downloaded as json or markdown.")
    export, ending, kind = FORMS[form]
    slug = _SLUG.sub("-", talk.title.lower()).strip("-")[:40].strip("-")
    data = export(replace(talk, nodes=tuple(_without_paths(node) for node in talk.nodes)))
    return {"name": f"draftscope-{slug or 'conversation'}.{ending}", "type": kind, "text": data.decode()}


def talk_of(packed: object, checkpoint: str = "") -> Talk:
    """The conversation of a file, as a page sends it: gzip in base64, JSON or Markdown by what is in it.

    Where it names the model that runs as the page shows it, `checkpoint` is put in its place. Raises `ExchangeError`.
    """
    data = _unpacked(packed)
    talk = import_json(data) if data.lstrip()[:1] == b"{" else import_markdown(data)
    if not talk.nodes:
        raise ExchangeError("The file holds no message, so there is nothing to open.")
    return replace(talk, nodes=tuple(_with_checkpoint(node, checkpoint) for node in talk.nodes))


def _unpacked(packed: object) -> bytes:
    try:
        if not isinstance(packed, str):
            raise ValueError("no text")
        stream = zlib.decompressobj(wbits=31)
        data = stream.decompress(base64.b64decode(packed, validate=True), LARGEST + 1)
    except (ValueError, binascii.Error, zlib.error):
        raise ExchangeError("The file did not arrive whole; try again.") from None
    if len(data) > LARGEST:
        raise ExchangeError(f"The file is larger than the {LARGEST // 2**20} MiB that can be opened in the page.")
    if not stream.eof:
        raise ExchangeError("The file did not arrive whole; try again.")
    return data


def _without_paths(node: Node) -> Node:
    said = node.said
    drafting: dict[str, Any] = dict(said.drafting)
    if isinstance(drafting.get("drafter"), str):
        drafting["drafter"] = public_name(drafting["drafter"])
    return replace(node, said=replace(said, checkpoint=short_reference(said.checkpoint), drafting=drafting))


def _with_checkpoint(node: Node, checkpoint: str) -> Node:
    if not checkpoint or node.said.checkpoint != short_reference(checkpoint):
        return node
    return replace(node, said=replace(node.said, checkpoint=checkpoint))
