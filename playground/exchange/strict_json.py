"""JSON from elsewhere: of bounded size, in UTF-8, no key twice, no NaN, no depth that would exhaust the parser."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from playground.exchange.errors import ExchangeError
from playground.store.values import short_line

QUOTED_CHARS = 40
"""Characters of a foreign name that a sentence quotes."""


class Strict(BaseModel):
    """Base of the models of our files: nothing is converted, nothing unknown is taken."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def text_of(data: bytes, most: int, what: str) -> str:
    """`data` as text. Raises `ExchangeError` when it has more than `most` bytes or is not UTF-8."""
    if len(data) > most:
        raise ExchangeError(f"The file has {len(data):,} bytes, but {what} has at most {most:,}.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ExchangeError(f"Line {line} of the file is not UTF-8 text; {what} is.") from None


def parse(text: str) -> Any:
    """The value of a JSON text. Raises `ExchangeError`."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ExchangeError(f"Line {error.lineno}, column {error.colno} of the file is not JSON.") from None
    except ValueError:
        raise ExchangeError("The file has a number with too many digits.") from None
    except RecursionError:
        raise ExchangeError("The file is nested too deeply to be one of ours.") from None


def require_known(schema: object, known: int, what: str) -> None:
    """Raise `ExchangeError` unless a file's `schema` is `known`. (For a model's literal 1, true would do.)"""
    if type(schema) is not int or schema < 1:
        raise ExchangeError(f"The file's schema is not the number {known}, as in {what} of this version.")
    if schema > known:
        raise ExchangeError(f"The file has {what} of a later version; update Draftscope to open it.")


def problem_of(error: ValidationError) -> str:
    """The first problem pydantic found, as the end of a sentence: which field, and what is wrong with it."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{quoted(part)}" for part in first["loc"]).lstrip(".")
    if first["type"] == "missing":
        return f"{place} is missing"
    if first["type"] == "extra_forbidden":
        return f"{place} is not a field that this version knows"
    message = first["msg"]
    return f"{place or 'it'}: {message[:1].lower()}{message[1:].rstrip('.')}"


def quoted(name: str) -> str:
    """The beginning of a foreign name, fit for a sentence."""
    return short_line(name, QUOTED_CHARS)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers disagree on which of two equal keys counts, so there may not be two."""
    out = dict(pairs)
    if len(out) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ExchangeError(f"The file has the field {quoted(twice)} twice in one object.")
    return out


def _no_number(name: str) -> float:
    raise ExchangeError(f"The file has {name} for a number, which is no JSON.")
