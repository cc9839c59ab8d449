"""A vocabulary of a few dozen words, ordinary and nasty ones, for pages that need some text."""

from __future__ import annotations

PROSE = (
    "the a of and to session draft token tokens trunk cache accepts writes one row round verify model small quick "
    "reads each then it keeps what was right and speculative burst next because if you ask again state hidden"
)
PIECES = (",", ".", "\n", "ly", "ing", "'s", "\t", "!", ":", "\n\n", " <b>bold</b>", "\u202e")
WORDS = [*(f" {word}" for word in PROSE.split()), *PIECES]


class WordTokenizer:
    """The two methods that the panels use; ids repeat the list."""

    def decode(self, token_ids: list[int], **options: object) -> str:
        return WORDS[token_ids[0] % len(WORDS)]

    def convert_ids_to_tokens(self, ids: int) -> str:
        return WORDS[ids % len(WORDS)].replace(" ", "Ġ")
