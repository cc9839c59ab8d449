"""Prompt lookup over the whole session, by index (Saxena 2023, "Prompt Lookup Decoding").

For each n from LONGEST down to 1 the index maps the last n tokens to the places where the same n tokens ended before;
the most recent place of the longest match is copied from, briefly where only one token agrees. A copy that runs past
the end of the session goes on through its own draft, so a repetition is followed for as long as it lasts. One round
costs LONGEST look-ups and at most k copies whatever the length of the session; one committed token costs LONGEST
insertions.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

LONGEST = 4
LOOSE = 3
"""Most tokens copied after a match of one token. It is right about once in four and hardly ever four times in a row, so
a longer copy would only make the forward wider."""


class NgramDrafter:
    """Copies what followed the same words earlier in the session."""

    name = "ngram"
    needs_hidden = False
    max_ctx: int | None = None

    def __init__(self) -> None:
        self._tokens: list[int] = []
        # per n - 1: n-gram -> positions just after it, ascending; a stack, so that truncation pops
        self._ends: list[dict[tuple[int, ...], list[int]]] = [{} for _ in range(LONGEST)]

    def start(self, committed: Sequence[int], last_h: Tensor | None) -> None:
        """Index the session so far."""
        self._tokens.clear()
        for ends in self._ends:
            ends.clear()
        self.observe(committed, None)

    def observe(self, tokens: Sequence[int], hidden: Tensor | None) -> None:
        """Append to the index."""
        for token in tokens:
            self._tokens.append(token)
            end = len(self._tokens)
            for n in range(1, min(LONGEST, end) + 1):
                self._ends[n - 1].setdefault(tuple(self._tokens[end - n :]), []).append(end)

    def truncate(self, length: int, last_h: Tensor | None) -> None:
        """Remove the tokens past `length` from the index, latest first."""
        while (end := len(self._tokens)) > length:
            for n in range(1, min(LONGEST, end) + 1):
                key = tuple(self._tokens[end - n :])
                ends = self._ends[n - 1][key]
                last = ends.pop()
                assert last == end
                if not ends:
                    del self._ends[n - 1][key]
            self._tokens.pop()

    def propose(self, pending: int, k: int, last_h: Tensor | None) -> list[int]:
        """Copy up to `k` tokens from after the latest place where the longest suffix stood before."""
        tail = [*self._tokens[-(LONGEST - 1) :], pending]
        for n in range(len(tail), 0, -1):
            ends = self._ends[n - 1].get(tuple(tail[-n:]))
            if ends:
                return self._copy(ends[-1], pending, k if n > 1 else min(k, LOOSE))
        return []

    def _copy(self, source: int, pending: int, k: int) -> list[int]:
        draft: list[int] = []
        known = len(self._tokens)
        for at in range(source, source + k):
            if at < known:
                draft.append(self._tokens[at])
            elif at == known:
                draft.append(pending)
            else:
                draft.append(draft[at - known - 1])
        return draft

    def release(self) -> None:
        """Keeps its index: it is small, and costs more to build than to hold."""

    def snapshot(self) -> object:
        """The number of tokens indexed."""
        return len(self._tokens)

    def restore(self, snapshot: object, last_h: Tensor | None) -> None:
        """Truncate to that number."""
        assert isinstance(snapshot, int) and snapshot <= len(self._tokens)
        self.truncate(snapshot, last_h)
