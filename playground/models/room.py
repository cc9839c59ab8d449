"""Does a model fit beside the running one, or once that is unloaded? Bytes needed against bytes free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.errors import EngineError

HEADROOM = 1.10
"""Of the weights, as `engine.checkpoints.memory` asks for: buffers of the load and of the first forward."""
Verdict = Literal["fits", "unload", "no"]


@dataclass(frozen=True)
class Need:
    """Bytes of the weights of trunk and drafter, and of the cache rows of every slot once they are full."""

    weights: int
    rows: int

    @property
    def total(self) -> int:
        """Bytes to have free before the load."""
        return int(HEADROOM * self.weights) + self.rows


def judge(need: Need, free: int, held: int) -> Verdict:
    """`held` is what the running engine gives back when it is unloaded; all in bytes."""
    if need.total <= free:
        return "fits"
    return "unload" if need.total <= free + held else "no"


class NoRoom(EngineError):
    """There is not enough free memory. `sentence` says what to do about it, which depends on what is loaded."""

    def __init__(self, name: str, need: Need, free: int, device: str) -> None:
        self.name, self.need, self.free, self.device = name, need, free, device
        super().__init__(self.sentence(0))

    def helped_by(self, held: int) -> bool:
        """Whether unloading an engine that holds so many bytes would make room."""
        return judge(self.need, self.free, held) == "unload"

    def sentence(self, held: int) -> str:
        """One sentence, where the running engine holds `held` bytes; 0 for none."""
        short = f"{self.name} needs {size_text(self.need.total)} on {self.device}, but {size_text(self.free)} are free"
        if self.helped_by(held):
            return f"{short} beside the running model: unload that first, or choose a smaller one."
        even = ", and unloading the running model would not be enough" if held else ""
        return f"{short}{even}: choose a smaller one, start with --dtype bfloat16 or fewer --slots, or free memory."


def size_text(count: int) -> str:
    """Bytes in words: `270 MB`, `1.4 GB`, `16 GB`."""
    if count < 995e6:
        return f"{count / 1e6:.0f} MB"
    return f"{count / 1e9:.1f} GB" if count < 9.95e9 else f"{count / 1e9:.0f} GB"
