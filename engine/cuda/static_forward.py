"""One forward as a function of tensors alone: nothing of it depends on a number that the host holds.

Inputs are one int64 tensor on the device, [slot, start, last, id of column 0, id of column 1, ...]: what a graph reads
when it is replayed. A negative id is a draft that was not made; it is computed as token 0 and accepted by no walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from engine.cuda.pool import PoolRows
from engine.cuda.pool_attention import NAME, PLACE
from engine.cuda.pool_cache import Place, PoolCache
from engine.trunk import Trunk, implementation
from engine.upload import ids_on
from kernels.dispatch import pick

HEAD = 3
"""Inputs before the ids."""


class Computed(NamedTuple):
    """What a forward leaves on the device."""

    logits: Tensor
    """[c, V] of the columns asked for."""
    hidden: Tensor
    """[W, H] of every column, before the final norm."""
    report: Tensor
    """[4] int64. The first is 1 if rows and logits are finite. The others are `kernels.walk.Walk` of greedy acceptance,
    with the ids of columns 1 .. as the drafts: accepted, token, status. Zeros unless every column has its logits."""


def pack(
    slot: int,
    start: int,
    tokens: Sequence[int],
    drafts: Tensor | None,
    width: int,
    device: torch.device,
    into: Tensor | None = None,
) -> Tensor:
    """The inputs [3 + width] for `tokens`, which the host knows, followed by `drafts` [n], which it may not.

    `into`: a tensor on the device to write them in.
    """
    known, count = len(tokens), 0 if drafts is None else drafts.shape[0]
    fill = [0] * count + [tokens[-1] if known else 0] * (width - known - count)
    inputs = ids_on(device, [slot, start, start + known + count - 1, *tokens, *fill], into)
    if drafts is not None:
        inputs[HEAD + known : HEAD + known + count] = drafts
    return inputs


def compute(trunk: Trunk, rows: PoolRows, inputs: Tensor, columns: Tensor | None, *, walk: bool = False) -> Computed:
    """Run `trunk` over one slot of `rows`; the caller holds the trunk's lock.

    Args:
        inputs: [3 + W] int64, see the module.
        columns: those whose logits are wanted, [c] int64 on the device; None leaves the output head out.
        walk: whether `columns` is all of them in order, and the greedy walk is wanted.
    """
    place = Place(inputs[0:1], inputs[1:2], inputs[2:3])
    ids = inputs[HEAD:]
    column = torch.arange(ids.shape[0], device=ids.device)
    positions = torch.minimum(place.start + column, place.last)
    cache = PoolCache(rows, place)
    with implementation(trunk.model, NAME):
        logits, hidden = trunk.run(ids.clamp_min(0)[None], positions[None], cache, columns, **{PLACE: place})
    finite = torch.isfinite(hidden.abs().amax())
    if columns is not None:
        finite = finite & torch.isfinite(logits.amax())
    report = torch.zeros(4, dtype=torch.long, device=ids.device)
    if walk:
        drafts = torch.where(place.start + column[1:] <= place.last, ids[1:], -1)
        found = pick("greedy_walk", ids.device)(logits[None], drafts[None])
        report[1:2], report[2:3], report[3:4] = found.accepted, found.token, found.status
    report[0] = finite
    return Computed(logits, hidden, report)
