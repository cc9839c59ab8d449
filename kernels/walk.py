"""What a walk over drafted tokens returns, for each of B independent rounds."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Walk(NamedTuple):
    """One round each: drafts 0 .. accepted-1 hold, `token` follows them.

    Where `status` is not OK the walk stopped at row `accepted` because that row is unusable: `token` is 0 then and
    must not be emitted. In every walk a negative draft means that there is none in that column nor after it, so
    rounds with fewer drafts share one shape; row `accepted` is then the row after the last draft.
    """

    accepted: Tensor
    """[B] int64: leading drafts that hold."""
    token: Tensor
    """[B] int64: the bonus after the last draft, or the correction of draft `accepted`."""
    tests: Tensor
    """[B] int64: drafts that were tested, the failing one included."""
    status: Tensor
    """[B] int32, a `Status`: of the first unusable row that was read, else OK."""


def draft_count(drafts: Tensor) -> Tensor:
    """Drafts before the first negative one. [B, n] int64 -> [B] int64."""
    return (drafts >= 0).long().cumprod(-1).sum(-1)
