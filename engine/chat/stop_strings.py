"""Stop strings in a stream of text: pure, one character at a time, so that no grouping of the stream matters.

The first stop string to *complete* ends the text; of several that complete at the same character, the longest. Text is
held back for as long as it could be the beginning of one, and never for longer: what is held is the longest suffix
that is a proper prefix of a stop string (Knuth, Morris and Pratt 1977, one automaton a stop string).
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import EngineError

MOST = 16
LONGEST = 1000
"""Characters of one stop string: what may be held back must stay short of a page."""


def check_stop(stop: Sequence[str]) -> tuple[str, ...]:
    """The stop strings of a call, as a tuple. Raises `EngineError` with one sentence for the first that is unfit."""
    if isinstance(stop, str):
        raise EngineError("stop must be a list of strings; put the one string in a list.")
    stops = tuple(stop)
    if len(stops) > MOST:
        raise EngineError(f"There may be at most {MOST} stop strings, got {len(stops)}; leave some out.")
    for text in stops:
        if not isinstance(text, str):
            raise EngineError(f"A stop string must be text, got {type(text).__name__}.")
        if not text:
            raise EngineError("A stop string is empty, which would stop every answer at once; leave it out.")
        if len(text) > LONGEST:
            raise EngineError(f"A stop string has {len(text):,} characters; the most is {LONGEST:,}, so shorten it.")
    return stops


class StopMatcher:
    """Lets text through up to the first stop string to complete, and holds back what could become one."""

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = [(stop, _borders(stop)) for stop in stops]
        self._states = [0] * len(self._stops)
        self.held = ""
        """Text that could still become a stop string."""
        self.released = 0
        """Characters let through."""
        self.found: str | None = None
        """The stop string that ended the text; it began at character `released`."""

    def push(self, text: str) -> str:
        """Take the next characters and return those that are now certain; '' for ever after a match."""
        if self.found is not None:
            return ""
        known = self.held + text
        for end, character in enumerate(text, start=len(self.held) + 1):
            complete = self._advance(character)
            if complete:
                self.found = max(complete, key=len)
                return self._release(known[: end - len(self.found)], "")
        cut = len(known) - max(self._states, default=0)
        return self._release(known[:cut], known[cut:])

    def flush(self) -> str:
        """Let through what is held: nothing more will come."""
        self._states = [0] * len(self._stops)
        return self._release(self.held, "")

    def _release(self, text: str, held: str) -> str:
        self.held = held
        self.released += len(text)
        return text

    def _advance(self, character: str) -> list[str]:
        """One character for every automaton; the stop strings it completes."""
        done = []
        for index, (stop, borders) in enumerate(self._stops):
            state = self._states[index]
            while state and stop[state] != character:
                state = borders[state - 1]
            state += stop[state] == character
            if state == len(stop):
                done.append(stop)
                state = borders[state - 1]
            self._states[index] = state
        return done


def _borders(text: str) -> list[int]:
    """For every prefix of `text`, the length of its longest proper suffix that is also a prefix."""
    out, state = [0], 0
    for character in text[1:]:
        while state and text[state] != character:
            state = out[state - 1]
        state += text[state] == character
        out.append(state)
    return out
