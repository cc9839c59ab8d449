"""A session's trace as a file to take along; the visitor's own messages are in it only where that was asked for.

A trace is made to be shown: attached to a report, opened by somebody else. So what a person wrote is left out unless
that person says otherwise each time, and then the file's name says it too.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from playground.exchange import export_trace
from playground.exchange.trace_name import trace_name

if TYPE_CHECKING:
    from playground.conversation import Conversation
    from playground.service import Service


def trace_download(service: Service, conversation: Conversation, *, messages: bool) -> str:
    """JSON: the file's `name`, and the file as base64 in `data`; '' before the first turn."""
    chat, trace = conversation.chat, conversation.trace
    if trace is None or (chat is None and not len(trace)):
        return ""
    if chat is not None:
        tokenizer = chat.session.engine.tokenizer
    else:
        tokenizer = None if conversation.record is None else conversation.record.tokenizer
    asked = conversation.asked.of(trace) if messages else {}
    name = trace_name(service.keeper.name_of(conversation.sid), trace.header.checkpoint, messages=bool(asked))
    packed = base64.b64encode(export_trace(trace, tokenizer, compressed=True, messages=asked))
    return json.dumps({"name": name, "data": packed.decode("ascii")})
