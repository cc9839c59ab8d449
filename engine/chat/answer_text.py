"""One answer's text as it may be shown, and which of its tokens that text covers.

Two things hold text back: a character whose bytes have not all arrived, and what could become a stop string. Both wait
across the turns of one answer: an answer that was cut short goes on with exactly the text that was missing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from engine.chat.detokenize import Detokenizer
from engine.chat.stop_strings import StopMatcher


class AnswerText:
    """Tokens in, certain text out. Belongs to one answer, over all of its turns."""

    def __init__(self, decoder: Detokenizer, stops: Sequence[str] = ()) -> None:
        self._decoder = decoder
        self._matcher = StopMatcher(stops)
        self._held_tokens = bool(stops)
        self._tokens = 0
        self._length = 0
        # (tokens, characters) wherever a token ends with a whole character; the first one is not past what is certain
        self._edges: deque[tuple[int, int]] = deque([(0, 0)])
        self._since = ""
        self._before = 0

    @property
    def tokens(self) -> int:
        """Tokens taken so far."""
        return self._tokens

    @property
    def ready(self) -> int:
        """Leading tokens that may be handed on: with stop strings, those wholly in certain text."""
        return self._edges[0][0] if self._held_tokens else self._tokens

    @property
    def held(self) -> str:
        """Whole characters that could still become a stop string."""
        return self._matcher.held

    @property
    def found(self) -> str | None:
        """The stop string that ended the answer, or None."""
        return self._matcher.found

    @property
    def kept(self) -> int:
        """After a match: the leading tokens that lie wholly before it."""
        return self._edges[0][0]

    @property
    def rest(self) -> str:
        """After a match: shown text between the kept tokens and the match, from a token that the match begins in."""
        return self._since[: self._before + self._matcher.released - self._edges[0][1]] if self.found else ""

    def push(self, token: int) -> str:
        """Take a token and return the text that is now certain; '' for ever after a match."""
        if self.found is not None:
            return ""
        self._tokens += 1
        return self._take(self._decoder.push([token]), whole=not self._decoder.holds)

    def flush(self) -> str:
        """The answer is over: return all that is held, unless a stop string ended it."""
        if self.found is not None:
            return ""
        text = self._take(self._decoder.flush(), whole=True)
        if self.found is None:
            text += self._matcher.flush()
            self._prune()
        return text

    def restart(self, stops: Sequence[str]) -> str:
        """Go on under other stop strings; returns the text that they do not hold back any more."""
        held, before = self._matcher.held, self._before + self._matcher.released
        self._matcher, self._before, self._held_tokens = StopMatcher(stops), before, bool(stops)
        text = self._matcher.push(held)
        self._prune()
        return text

    def _take(self, piece: str, *, whole: bool) -> str:
        self._length += len(piece)
        self._since += piece
        if whole:
            self._edges.append((self._tokens, self._length))
        text = self._matcher.push(piece)
        self._prune()
        return text

    def _prune(self) -> None:
        certain, before = self._before + self._matcher.released, self._edges[0][1]
        while len(self._edges) > 1 and self._edges[1][1] <= certain:
            self._edges.popleft()
        self._since = self._since[self._edges[0][1] - before :]
