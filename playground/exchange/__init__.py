"""Conversations and traces as files, out and in: what comes in is data from elsewhere and is read strictly."""

from playground.exchange.conversation_json import export_json, import_json
from playground.exchange.conversation_markdown import export_markdown, import_markdown
from playground.exchange.errors import ExchangeError
from playground.exchange.trace_file import export_trace, import_trace

__all__ = [
    "ExchangeError",
    "export_json",
    "export_markdown",
    "export_trace",
    "import_json",
    "import_markdown",
    "import_trace",
]
