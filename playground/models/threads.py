"""Every load measures its own number of CPU threads, up to what torch had when the first one began."""

from __future__ import annotations

from functools import cache


def use_first_thread_count() -> None:
    """A new thread starts with the count that the last engine settled on; without this, the next could not go above."""
    import torch

    torch.set_num_threads(_first())


@cache
def _first() -> int:
    import torch

    return torch.get_num_threads()
