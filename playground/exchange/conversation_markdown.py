"""What a conversation shows, as a Markdown file that reads well anywhere, and back.

Only the shown path is in it, and no ids. Every text stands in a fenced block whose fence is longer than any run of
backticks in it, so that nothing a user or a model wrote can end the block, begin a heading or be taken for HTML
(CommonMark 0.31, 4.5). Whatever else is not ours is escaped. Only a file of exactly this form can be read back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from playground.exchange.conversation_json import checked
from playground.exchange.errors import ExchangeError
from playground.exchange.strict_json import text_of
from playground.store.checks import MESSAGES, NAME_CHARS, TALK_BYTES, clean
from playground.store.values import Node, Role, Said, Talk, short_line

FORM = "- Draftscope conversation, form 1"
LARGEST_FILE = TALK_BYTES + 2**20
"""Bytes: what the store keeps of a conversation, and the lines between."""
HEADINGS: dict[str, Role] = {"## User": "user", "## Assistant": "assistant"}
SYSTEM = "## System"
_SPECIAL = re.compile(r"[!-/:-@\[-`{-~]")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_CREATED, _UPDATED = (re.compile(rf"- {name}: (\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ)") for name in ("created", "updated"))
_FENCE = re.compile(r"(`{3,})text")


def export_markdown(talk: Talk) -> bytes:
    """The file, in UTF-8. Raises `ExchangeError` when it would be larger than what an import takes."""
    title = _SPECIAL.sub(r"\\\g<0>", short_line(clean(talk.name), NAME_CHARS))
    lines = [f"# {title}".rstrip(), "", FORM]
    lines += [f"- {name}: {_written(getattr(talk, name))}" for name in ("created", "updated")]
    if talk.system:
        lines += ["", SYSTEM, "", *_fenced(talk.system)]
    for node in talk.path:
        heading = next(text for text, role in HEADINGS.items() if role == node.said.role)
        lines += ["", heading, "", *_fenced(node.said.content)]
    data = clean("\n".join(lines) + "\n").encode()
    if len(data) > LARGEST_FILE:
        raise ExchangeError(f"The conversation is larger than the {LARGEST_FILE // 2**20} MiB that a file may have.")
    return data


def import_markdown(data: bytes) -> Talk:
    """The conversation of a file by `export_markdown`. Raises `ExchangeError` with the line that is not ours."""
    lines = _Lines(text_of(data, LARGEST_FILE, "a conversation"))
    name = _ESCAPED.sub(r"\1", lines.take(re.compile(r"#(?: (.*))?"), "a heading with the name")[1] or "")
    lines.expect("", FORM)
    created, updated = (_read(lines.take(pattern, "a time")[1]) for pattern in (_CREATED, _UPDATED))
    system = ""
    nodes: list[Node] = []
    while lines.more:
        lines.expect("")
        heading = lines.next("a heading")
        if heading == SYSTEM and not nodes and not system:
            system = lines.block()
        elif heading in HEADINGS and len(nodes) < MESSAGES:
            said = Said(HEADINGS[heading], lines.block())
            nodes.append(Node(len(nodes), len(nodes) - 1 if nodes else None, said))
        else:
            raise lines.wrong("a heading that may stand here")
    return checked(Talk(name, created, updated, system, {}, tuple(nodes), len(nodes) - 1 if nodes else None))


class _Lines:
    """The lines of a file, one after another. Only `\\n` ends one: a text may hold any other break."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        if self._lines[-1] == "":
            self._lines.pop()
        self._at = 0

    @property
    def more(self) -> bool:
        return self._at < len(self._lines)

    def next(self, wanted: str) -> str:
        if not self.more:
            raise ExchangeError(f"The file ends after line {self._at}, where {wanted} is missing.")
        self._at += 1
        return self._lines[self._at - 1]

    def take(self, pattern: re.Pattern[str], wanted: str) -> re.Match[str]:
        match = pattern.fullmatch(self.next(wanted))
        if match is None:
            raise self.wrong(wanted)
        return match

    def expect(self, *wanted: str) -> None:
        for line in wanted:
            what = repr(line) if line else "an empty line"
            if self.next(what) != line:
                raise self.wrong(what)

    def block(self) -> str:
        self.expect("")
        fence = self.take(_FENCE, "a fence of backticks followed by the word text")[1]
        start = self._at
        for line in self._rest():
            self._at += 1
            if line == fence:
                return "\n".join(self._lines[start : self._at - 1])
        raise ExchangeError(f"The text that begins in line {start} of the file has no end; the file was cut short.")

    def wrong(self, wanted: str) -> ExchangeError:
        return ExchangeError(
            f"Line {self._at} of the file is not {wanted}: only files that Draftscope exported can be read."
        )

    def _rest(self) -> Iterator[str]:
        return iter(self._lines[self._at :])


def _fenced(text: str) -> list[str]:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", text, fence]


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _read(text: str) -> float:
    try:
        return max(0.0, datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise ExchangeError("A time at the head of the file is not a day and a time of day.") from None
