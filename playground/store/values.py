"""What a stored conversation consists of, as plain frozen values: messages in a tree, and where one stands in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from engine.events import Origin

Role = Literal["user", "assistant"]
Setting = bool | int | float | str | list[str] | None
Settings = Mapping[str, Setting]
Figure = str | int | float
TITLE_CHARS = 60


@dataclass(frozen=True)
class Said:
    """One message."""

    role: Role
    content: str
    tokens: tuple[int, ...] | None = None
    """The ids an answer was generated with; None when they are not known, and for a question."""
    rest: str = ""
    """The end of `content` that `tokens` do not cover: part of a token in which a stop string began."""
    origins: tuple[Origin, ...] = ()
    """One per token, or none."""
    checkpoint: str = ""
    """Whose ids `tokens` are; with any other checkpoint they mean nothing."""
    drafting: Mapping[str, Figure] = field(default_factory=dict)
    """How it was made, in a few figures: drafter, draft length, rounds, drafted, accepted."""


@dataclass(frozen=True)
class Node:
    """One message in its place. `parent` is the node it answers or follows; None for a conversation's beginning."""

    id: int
    parent: int | None
    said: Said
    created: float = 0.0
    """Seconds since 1970."""


@dataclass(frozen=True)
class Talk:
    """A whole conversation. Parents come before their children in `nodes`."""

    name: str = ""
    created: float = 0.0
    updated: float = 0.0
    system: str = ""
    settings: Settings = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()
    current: int | None = None
    """The last message of what is shown; None when nothing is."""
    answering: bool = False
    """Whether a turn was under way when it was last written: where none is, the program ended in the middle of it."""

    @property
    def path(self) -> tuple[Node, ...]:
        """What is shown: the nodes from the beginning to `current`."""
        by_id = {node.id: node for node in self.nodes}
        out: list[Node] = []
        at = self.current
        while at is not None:
            out.append(by_id[at])
            at = by_id[at].parent
        return tuple(reversed(out))

    @property
    def title(self) -> str:
        """Its name, or the beginning of its first question."""
        return self.name or title_of(next((n.said.content for n in self.path or self.nodes), ""))


@dataclass(frozen=True)
class Summary:
    """One line of a list of conversations. `sid` opens it: show it to its owner alone."""

    sid: str
    name: str
    title: str
    """The name, or the beginning of the first question."""
    created: float
    updated: float
    messages: int
    """On all branches."""
    answers: int = 0
    """Of these, what a model said."""
    checkpoint: str = ""
    """Who said the last of them whose model is known."""


def title_of(text: str) -> str:
    """One short line for `text`."""
    return short_line(text, TITLE_CHARS) or "New conversation"


def short_line(text: str, most: int) -> str:
    """The beginning of `text` as one line of at most `most` characters, '' if nothing of it can be seen."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 8 * most]).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
