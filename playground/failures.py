"""What a turn says that ended with an error nobody foresaw, and how the memory of that turn is let go."""

from __future__ import annotations

import traceback

from playground.models.release import give_back_memory
from playground.sentences import OUT_OF_MEMORY, UNEXPECTED


def ran_out_of_memory(error: BaseException | None) -> bool:
    """Whether it says that memory ran out, of the machine or of a GPU; without importing torch."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    # torch has no type for the main memory: its CPU allocator raises a RuntimeError that says so.
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)


def sentence_of(error: BaseException) -> str:
    """One sentence for the visitor; the error's own words may hold paths and stay in the log."""
    return OUT_OF_MEMORY if ran_out_of_memory(error) else UNEXPECTED


def let_go(error: BaseException) -> None:
    """Free what the failed call still holds by its frames: after an out-of-memory that is what the next one needs."""
    if ran_out_of_memory(error):
        traceback.clear_frames(error.__traceback__)
        give_back_memory()
