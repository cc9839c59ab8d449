"""From logits to what is drawn from: penalties, then filters, row by row (`kernels.penalties`, `kernels.row_filter`).

Row j is shaped by its own context, the accepted prefix of the same round included, and by its own statistics.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from engine.errors import EngineError
from engine.sampling import SamplingParams
from engine.upload import ids_on
from kernels.dispatch import pick
from kernels.status import Status

Ids = Sequence[int] | Tensor
"""Token ids, on the host or [n] int64 on the device; a negative one there is no token."""


def penalised(logits: Tensor, params: SamplingParams, context: Ids, drafts: Ids) -> Tensor:
    """Logits [R, V] in fp32 with the penalties of `context` and, for row j, of `drafts[:j]`."""
    rows = logits.float()
    if not params.penalised:
        return rows
    out: Tensor = pick("penalties", logits.device)(
        rows,
        _known(ids_on(logits.device, context), rows.shape[1]),
        _known(ids_on(logits.device, drafts), rows.shape[1]),
        repetition=params.repetition_penalty,
        frequency=params.frequency_penalty,
        presence=params.presence_penalty,
        last_n=params.penalty_last_n,
    )
    return out


def scores(logits: Tensor, params: SamplingParams, context: Ids, drafts: Ids = ()) -> Tensor:
    """[R, V] fp32: penalised logits over the temperature, -inf where a filter removed the token."""
    out: Tensor = pick("row_filter", logits.device)(
        penalised(logits, params, context, drafts),
        temperature=params.temperature,
        top_k=params.top_k,
        top_p=params.top_p,
        min_p=params.min_p,
    )
    return out


def _known(ids: Tensor, vocab: int) -> Tensor:
    """`ids` with those that this row has no column for, a drafter's being shorter than the trunk's, made no token."""
    return ids.masked_fill(ids >= vocab, -1)


def require_ok(status: Tensor | float) -> None:
    """Raise `EngineError` unless a walk or a draw, by its status, ended well."""
    code = int(status[0]) if isinstance(status, Tensor) else int(status)
    if code != Status.OK:
        what = "a value that is not a number" if code == Status.NOT_FINITE else "no token to choose from"
        raise EngineError(f"The model's output has {what}; nothing was committed, and its weights may be damaged.")


def as_drafts(ids: Sequence[float]) -> list[int]:
    """Ids read from the device, up to the first negative one."""
    end = next((i for i, token in enumerate(ids) if token < 0), len(ids))
    return [int(token) for token in ids[:end]]
