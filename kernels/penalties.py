"""Repetition, frequency and presence penalties on the logits of one verify forward.

Row r is predicted after context_r = history + drafts[:r]. For a token v of that row:

    seen:       v occurs in context_r                      z <- z * rho if z < 0 else z / rho
    c_v > 0:    times v occurs in its last `last_n` tokens   z <- z - c_v * frequency - presence

The first line is transformers' RepetitionPenaltyLogitsProcessor over prompt and answer (Keskar et al. 2019, section
4.1). The second is the usual pair of additive penalties, here over a window of the same context; it comes second.
"""

from __future__ import annotations

import torch
from torch import Tensor


def reference(
    logits: Tensor,
    history: Tensor,
    drafts: Tensor,
    *,
    repetition: float,
    frequency: float,
    presence: float,
    last_n: int,
) -> Tensor:
    """Penalised logits, a new tensor.

    Args:
        logits: [R, V]. history: [M] int64, the tokens before row 0's prediction. drafts: [R-1] int64.
        repetition: rho > 0; 1 is off. frequency, presence: subtracted; 0 is off.
        last_n: window of the additive penalties in tokens; 0 switches them off.

    Returns:
        [R, V] fp32. A negative id in history or drafts is no token: it is skipped, though it takes its place in the
        window.
    """
    rows = logits.shape[0]
    assert drafts.shape == (rows - 1,)
    out = logits.to(torch.float32, copy=True)
    if repetition != 1.0:
        ids, inside = _context(history, drafts, rows, None)
        score = out.gather(1, ids)
        scaled = torch.where(score < 0, score * repetition, score / repetition)
        seen = _count(ids, inside, out.shape[1]) > 0
        out.scatter_(1, ids, torch.where(seen, scaled, score))
    if last_n > 0 and (frequency != 0.0 or presence != 0.0):
        ids, inside = _context(history[-last_n:], drafts, rows, last_n)
        count = _count(ids, inside, out.shape[1])
        out.scatter_(1, ids, out.gather(1, ids) - (count * frequency + (count > 0) * presence))
    return out


def _context(history: Tensor, drafts: Tensor, rows: int, last_n: int | None) -> tuple[Tensor, Tensor]:
    """Ids [rows, L] of history + drafts, and whether each lies in the (window of the) context of that row."""
    ids = torch.cat([history, drafts])
    place = torch.arange(ids.shape[0], device=ids.device)
    end = history.shape[0] + torch.arange(rows, device=ids.device)[:, None]
    inside = (place < end) & (ids >= 0)
    if last_n is not None:
        inside &= place >= end - last_n
    return ids.clamp_min(0).expand(rows, -1), inside


def _count(ids: Tensor, inside: Tensor, vocab: int) -> Tensor:
    """How often ids[r, i] occurs inside row r's context, for each i: equal ids get equal counts. [rows, L] fp32."""
    table = torch.zeros(ids.shape[0], vocab, dtype=torch.float32, device=ids.device)
    return table.scatter_add_(1, ids, inside.float()).gather(1, ids)
