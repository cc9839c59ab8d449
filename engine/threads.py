"""How the CPU's threads wait, and how many of them: settled before torch is imported, and at load by measurement."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from statistics import median

WAIT = "OMP_WAIT_POLICY"


def wait_asleep() -> None:
    """Let waiting threads sleep, unless the user said otherwise. Must run before torch is imported.

    By default they spin. Where anything else wants the cores too (a page, a browser, a second process) spinning threads
    slow a forward several times over; on an idle machine sleeping costs next to nothing.
    """
    if "torch" not in sys.modules:
        os.environ.setdefault(WAIT, "PASSIVE")


def fastest_thread_count(step: Callable[[], object], most: int, set_threads: Callable[[int], None]) -> int:
    """The thread count from `most`, `most / 2`, ... 1 at which `step` is fastest; leaves it set.

    Fewer threads must win by a quarter: a machine that is busy at load makes them look better than they are. Counts
    are tried in turn, three times over, after one warm-up.
    """
    counts = [most]
    while counts[-1] > 1:
        counts.append(counts[-1] // 2)
    times: dict[int, list[float]] = {count: [] for count in counts}
    for repeat in range(4):
        for count in counts:
            set_threads(count)
            start = time.perf_counter()
            step()
            if repeat:
                times[count].append(time.perf_counter() - start)
    best = most
    for count in counts:
        if median(times[count]) < 0.75 * median(times[best]):
            best = count
    set_threads(best)
    return best
