"""Resident pages of weights that were mapped from a file and are not read again.

A safetensors file is mapped as a whole, so one tensor still in use keeps the pages of all others resident. Linux takes
them back at once when told so; they would come from the file again if anyone did read them.
"""

from __future__ import annotations

import bisect
import ctypes
import mmap
from pathlib import Path

from torch import Tensor

_MAPS = Path("/proc/self/maps")


class MappedFiles:
    """The `.safetensors` files mapped into this process at this moment; none where the system is not Linux."""

    def __init__(self) -> None:
        self._ranges = _file_ranges()
        self._libc = ctypes.CDLL(None) if self._ranges else None

    def let_go(self, weight: Tensor) -> int:
        """Give back the whole pages of a weight that lies in a mapped file; returns their bytes, 0 for any other.

        Only for weights that nobody has written to: a page of a mapped file that was changed in memory would come back
        as it is in the file.
        """
        start = -(-weight.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
        end = (weight.data_ptr() + weight.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
        at = bisect.bisect_right(self._ranges, (start, 2**64)) - 1
        if self._libc is None or start >= end or at < 0 or end > self._ranges[at][1]:
            return 0
        self._libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), ctypes.c_int(mmap.MADV_DONTNEED))
        return end - start


def _file_ranges() -> list[tuple[int, int]]:
    """(start, end) of every region of this process that is mapped from a `.safetensors` file, ascending."""
    if not _MAPS.exists():
        return []
    found = []
    for line in _MAPS.read_text().splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].endswith(".safetensors"):
            start, end = fields[0].split("-")
            found.append((int(start, 16), int(end, 16)))
    return sorted(found)
