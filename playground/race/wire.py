"""Between a measuring view and the server: what its script asks with, and what it is answered. Both are JSON texts."""

from __future__ import annotations

import json
from typing import Any

from playground.limits import Refused
from playground.registry import Registry

LONGEST_QUESTION = 300
"""Characters."""


def question_of(data: object, registry: Registry, longest: int = LONGEST_QUESTION) -> dict[str, Any] | None:
    """What a script asks; its `sid` is one that the registry knows. None for anything else: anyone may call."""
    text = data[0] if isinstance(data, list) and data else data
    if not isinstance(text, str) or len(text) > longest:
        return None
    try:
        asked = json.loads(text)
        if not isinstance(asked, dict):
            return None
        registry.get(asked.get("sid"))
    except (Refused, ValueError, RecursionError):
        return None
    return asked


def answer_of(value: Any) -> str:
    """Compact JSON without a literal `<`, and without the lone surrogates that no page can carry."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
