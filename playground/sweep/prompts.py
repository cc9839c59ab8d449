"""The prompts of our own that a sweep measures, one of each kind of work. Changing one changes every figure."""

from __future__ import annotations

from dataclasses import dataclass

OWN = "own"
"""Category of the visitor's prompts."""
_TEXT = (
    "The ferry to Marrow Island leaves at six in the morning, at noon and at four in the afternoon. In winter the "
    "noon ferry does not run. The crossing takes forty minutes when the sea is calm and an hour when it is not. The "
    "harbour office sells tickets until ten minutes before each ferry leaves; on board they cost twice as much."
)


@dataclass(frozen=True)
class Prompt:
    """One message that begins a conversation."""

    name: str
    category: str
    text: str


PROMPTS = (
    Prompt("garden", "chat", "I have a small balcony that gets sun only in the morning. What could I grow there?"),
    Prompt(
        "queue",
        "code",
        "Write a Python class `Queue` with the methods `put`, `get`, `peek` and `is_empty`, each with a docstring.",
    ),
    Prompt(
        "ferry",
        "edit",
        f"Write this text again word for word, but call the island Gannet Island everywhere.\n\n{_TEXT}",
    ),
    Prompt(
        "crossing",
        "question",
        f"Read this text.\n\n{_TEXT}\n\nWhen does the last ferry leave, and where are tickets cheaper?",
    ),
    Prompt("boxes", "list", "Write the numbers from 1 to 40 as a list, one per line, like this: Box 1 is packed."),
)
CATEGORIES = tuple(dict.fromkeys(prompt.category for prompt in PROMPTS))


def own_prompts(lines: str) -> list[Prompt]:
    """The visitor's prompts: one a line, blank lines passed over."""
    texts = [line.strip() for line in lines.splitlines() if line.strip()]
    return [Prompt(f"own {number}", OWN, text) for number, text in enumerate(texts, start=1)]
