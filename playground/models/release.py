"""Memory of an engine that was closed goes back to the system, so that the next one finds it free."""

from __future__ import annotations

import gc


def give_back_memory() -> None:
    """Collect what only cycles keep alive, and empty CUDA's pool, which the system counts as taken."""
    gc.collect()
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
