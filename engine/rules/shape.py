"""From logits to what is drawn from: penalties, then filters, row by row (`kernels.penalties`, `kernels.row_filter`).

Row j is shaped by its own context, the accepted prefix of the same round included, and by its own statistics.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.errors import EngineError
from engine.sampling import SamplingParams
from kernels.dispatch import pick
from kernels.status import Status


def penalised(logits: Tensor, params: SamplingParams, context: Sequence[int], drafts: Sequence[int]) -> Tensor:
    """Logits [R, V] in fp32 with the penalties of `context` and, for row j, of `drafts[:j]`."""
    rows = logits.float()
    if not params.penalised:
        return rows
    out: Tensor = pick("penalties", logits.device)(
        rows,
        torch.tensor(context, dtype=torch.long, device=logits.device),
        torch.tensor(drafts, dtype=torch.long, device=logits.device),
        repetition=params.repetition_penalty,
        frequency=params.frequency_penalty,
        presence=params.presence_penalty,
        last_n=params.penalty_last_n,
    )
    return out


def scores(logits: Tensor, params: SamplingParams, context: Sequence[int], drafts: Sequence[int] = ()) -> Tensor:
    """[R, V] fp32: penalised logits over the temperature, -inf where a filter removed the token."""
    out: Tensor = pick("row_filter", logits.device)(
        penalised(logits, params, context, drafts),
        temperature=params.temperature,
        top_k=params.top_k,
        top_p=params.top_p,
        min_p=params.min_p,
    )
    return out


def require_ok(status: Tensor) -> None:
    """Raise `EngineError` unless a walk ended well."""
    code = int(status[0])
    if code != Status.OK:
        what = "a value that is not a number" if code == Status.NOT_FINITE else "no token to choose from"
        raise EngineError(f"The model's output has {what}; nothing was committed, and its weights may be damaged.")
