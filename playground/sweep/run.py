"""What a sweep measured, as it is kept: a header that says where and how, and one record per decode.

Nothing derived is kept: the figures are computed from the records, so they mean the same in every version. A visitor's
own prompts are not kept, only their length and a fingerprint, by which two runs can be told to have used the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from playground.exchange.errors import ExchangeError
from playground.exchange.strict_json import Strict, parse, problem_of, require_known, text_of
from playground.sweep.options import LINE_CHARS, MOST_NEW, MOST_PASSES, MOST_REPEATS, NAME_CHARS

SCHEMA = 1
LARGEST_FILE = 700 * 2**10
"""Bytes; the largest of ours has about half as many, and a request can carry it."""
WHAT = "a sweep"
MOST_ARMS = 64

Text = Annotated[str, Field(max_length=200)]
Count = Annotated[int, Field(ge=0, le=10**7)]
Seconds = Annotated[float, Field(ge=0, le=1e7)]
Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]


class Machine(Strict):
    """Where it was measured."""

    processor: Text
    cores: Count
    threads: Count
    system: Text
    gpu: Text


class Model(Strict):
    """What was decoded with."""

    name: Text
    dtype: Text
    device: Text
    exact: bool


class PromptKept(Strict):
    """A prompt without its text."""

    name: Text
    category: Text
    chars: Annotated[int, Field(ge=0, le=LINE_CHARS)]
    fingerprint: Fingerprint


class Pass(Strict):
    """One decode of one prompt with one setting."""

    arm: Annotated[int, Field(ge=0, lt=MOST_ARMS)]
    prompt: Annotated[int, Field(ge=0, le=99)]
    repeat: Annotated[int, Field(ge=0, lt=MOST_REPEATS)]
    tokens: Count
    decoded: Count
    """Tokens after those that came first."""
    first_s: Seconds
    decode_s: Seconds
    rounds: Count
    drafted: Count
    accepted: Count
    emitted: Count
    round_ms: Seconds
    """The median round; 0 without rounds."""
    width: Count
    """Columns of its narrowest round; 0 without rounds."""
    text: Fingerprint
    """Of the tokens."""


class Run(Strict):
    """A sweep."""

    draftscope: Literal["sweep"] = "sweep"
    schema_: Annotated[Literal[1], Field(alias="schema")] = 1
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    name: Annotated[str, Field(max_length=NAME_CHARS)]
    created: Annotated[float, Field(ge=0, lt=1e11)]
    """Seconds since 1970."""
    complete: bool
    machine: Machine
    versions: Annotated[dict[Text, Text], Field(max_length=20)]
    model: Model
    drafters: Annotated[list[Text], Field(min_length=1, max_length=8)]
    lengths: Annotated[list[Annotated[int, Field(ge=1, le=64)]], Field(min_length=1, max_length=32)]
    prompts: Annotated[list[PromptKept], Field(min_length=1, max_length=40)]
    max_new: Annotated[int, Field(ge=1, le=MOST_NEW)]
    repeats: Annotated[int, Field(ge=1, le=MOST_REPEATS)]
    passes: Annotated[list[Pass], Field(max_length=MOST_PASSES)]

    @property
    def arms(self) -> list[tuple[str, int]]:
        """Drafter and K, plain decoding first: what `Pass.arm` counts."""
        return [("none", 0), *((drafter, length) for drafter in self.drafters for length in self.lengths)]


def fingerprint(content: str | Sequence[int]) -> str:
    """Twelve hexadecimal digits of a text or of tokens."""
    text = content if isinstance(content, str) else " ".join(map(str, content))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def file_text(run: Run) -> str:
    """The file of a run: one record a line. Raises `ExchangeError` when it would be larger than a file may be."""
    head = run.model_dump(by_alias=True, exclude={"passes"})
    lines = [f" {_dumps(key)}: {_dumps(value)}," for key, value in head.items()]
    records = ",\n".join(f"  {_dumps(record.model_dump())}" for record in run.passes)
    text = "{\n" + "\n".join(lines) + f'\n "passes": [\n{records}\n ]\n}}\n'
    if len(text.encode()) > LARGEST_FILE:
        raise ExchangeError(f"The sweep is larger than the {LARGEST_FILE // 1024} KiB that a file may have.")
    return text


def run_of(data: bytes) -> Run:
    """The run of a file. Raises `ExchangeError` with the line or the field that does not fit."""
    value = parse(text_of(data, LARGEST_FILE, WHAT))
    if not isinstance(value, dict) or value.get("draftscope") != "sweep":
        raise ExchangeError('The file is not a sweep of Draftscope: its draftscope must be "sweep".')
    require_known(value.get("schema"), SCHEMA, WHAT)
    try:
        run = Run.model_validate(value)
    except ValidationError as error:
        raise ExchangeError(f"The file is not a sweep as this version writes it: {problem_of(error)}.") from None
    for place, record in enumerate(run.passes):
        if record.arm >= len(run.arms) or record.prompt >= len(run.prompts) or record.repeat >= run.repeats:
            raise ExchangeError(f"passes[{place}] is of a setting, a prompt or a repeat that the file does not name.")
    return run


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(", ", ": "))
