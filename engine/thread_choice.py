"""How many CPU threads an engine's forwards use: as asked, or measured on its own trunk."""

from __future__ import annotations

import torch

from engine.threads import fastest_thread_count
from engine.trunk import Trunk


def choose_threads(trunk: Trunk, width: int, asked: int | None) -> int:
    """Set the number of CPU threads: as asked, or the fastest for forwards of `width` columns."""
    if asked is not None:
        torch.set_num_threads(asked)
    elif trunk.device.type == "cpu":
        slot, tokens = trunk.new_slot(width), [0] * width
        fastest_thread_count(
            lambda: trunk.forward(slot, 0, tokens, width, keep=[0]), torch.get_num_threads(), torch.set_num_threads
        )
    return torch.get_num_threads()
