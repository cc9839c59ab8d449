"""What is free on a device: for a page to show, so asked seldom and told coarsely."""

from __future__ import annotations

import logging
import time
from functools import lru_cache

FRESH_S = 2
"""Seconds that a reading is used again."""
DIGITS = 2
log = logging.getLogger(__name__)


def free_on(device: str) -> int | None:
    """Free bytes of a device to two digits, of the machine for `cpu`; None where that cannot be asked."""
    return _at(device, int(time.monotonic() // FRESH_S))


@lru_cache(maxsize=4)
def _at(device: str, moment: int) -> int | None:
    import torch

    from engine.checkpoints.memory import free_memory

    try:
        free = free_memory(torch.device(device))
    except Exception:
        log.exception("the free memory of %s cannot be read", device)
        return None
    return round(free, DIGITS - len(str(free)))
