"""Distributions of the next token, in doubles and by plain loops: the definitions, not the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from engine import SamplingParams


def penalised(logits: Tensor, context: Sequence[int], params: SamplingParams) -> list[float]:
    """Logits [V] after `context`, with its penalties."""
    window = list(context)[-params.penalty_last_n :] if params.penalty_last_n else []
    out = []
    for token, score in enumerate(logits.tolist()):
        if token in context:
            score = score * params.repetition_penalty if score < 0 else score / params.repetition_penalty
        if token in window:
            score -= window.count(token) * params.frequency_penalty + params.presence_penalty
        out.append(score)
    return out


def scores(logits: Tensor, context: Sequence[int], params: SamplingParams) -> list[float]:
    """As `penalised`, over the temperature, -inf where top-k, top-p or min-p removes the token, in that order."""
    out = [score / params.temperature for score in penalised(logits, context, params)]
    ranked = sorted(range(len(out)), key=lambda token: -out[token])
    kept = ranked[: params.top_k or None]
    mass = {token: math.exp(out[token] - out[ranked[0]]) for token in kept}
    total, above, nucleus = sum(mass.values()), 0.0, []
    for token in kept:
        if nucleus and above >= params.top_p * total:
            break
        nucleus.append(token)
        above += mass[token]
    kept = [token for token in nucleus if mass[token] >= params.min_p]
    return [score if token in kept else -math.inf for token, score in enumerate(out)]


def distribution(logits: Tensor, context: Sequence[int], params: SamplingParams) -> list[float]:
    """Probabilities [V] of the token after `context`."""
    row = scores(logits, context, params)
    mass = [math.exp(score - max(row)) for score in row]
    return [one / sum(mass) for one in mass]


def residual(p: Sequence[float], q: Sequence[float]) -> list[float]:
    """What a correction is drawn from: the positive part of p - q, normalised; p where it has no mass."""
    rest = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    return [one / sum(rest) for one in rest] if sum(rest) > 1e-12 else list(p)
