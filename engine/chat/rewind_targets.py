"""Which rewind points of a session a conversation knows, and what was said up to each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.errors import SessionStateError

if TYPE_CHECKING:
    from engine.session import SpecSession


@dataclass(frozen=True)
class RewindTarget:
    """A retained point and what the conversation is there."""

    pos: int
    turn: int
    """The user message that is the last one there, counted from 0; its answer goes."""
    role: Literal["header", "prompt"]
    """`prompt`: at the end of its prompt; `header`: before the assistant header."""


class RewindTargets:
    """The points that a conversation's own turns took, as far as the session retains them."""

    def __init__(self, session: SpecSession) -> None:
        self._session = session
        self._known: dict[int, RewindTarget] = {}

    def note(self, turn: int, prompt_end: int, header: int | None) -> None:
        """A turn took its points; those that it had to drop are forgotten."""
        self._known = {target.pos: target for target in self.retained()}
        if header is not None and header in self._session.rewind_points():
            self._known[header] = RewindTarget(header, turn, "header")
        self._known[prompt_end] = RewindTarget(prompt_end, turn, "prompt")

    def keep(self, valid: Callable[[int], bool]) -> None:
        """Forget the points of the user messages that are not `valid`: the conversation is another one there."""
        self._known = {pos: target for pos, target in self._known.items() if valid(target.turn)}

    def retained(self) -> list[RewindTarget]:
        """Ascending."""
        return [self._known[pos] for pos in self._session.rewind_points() if pos in self._known]

    def at(self, pos: int) -> RewindTarget:
        """The target at `pos`. Raises `SessionStateError`, naming the retained ones, if there is none."""
        there = self.retained()
        for target in there:
            if target.pos == pos:
                return target
        if not there:
            raise SessionStateError("There is no checkpoint to rewind to yet; run a turn first.")
        raise SessionStateError(
            f"There is no checkpoint at {pos!r} of this conversation; retained ones are at "
            f"{', '.join(str(target.pos) for target in there)}."
        )

    def prompt_end(self, turn: int) -> int | None:
        """Where the prompt of user message `turn` ends, or before its header if only that is retained; else None."""
        return max((target.pos for target in self.retained() if target.turn == turn), default=None)
