"""Makes every choice of a table session again, from the trace's settings and counters alone.

Distributions are the closed forms, numbers are Philox's at the counters the trace names; what falls within rounding of
a boundary may go either way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch

from engine import SamplingParams
from engine.events import DrawEvent, RoundEvent
from kernels.philox import Role
from tests.engine.sampling.account import Choice
from tests.engine.sampling.closed_form import distribution, penalised, residual, scores
from tests.engine.sampling.numbers import noise, uniform
from tests.engine.sampling.table_trunk import DRAFT, TRUNK, row_after

ROUNDING = 1e-5


def require_reproducible(choices: Iterable[Choice]) -> None:
    """The gate: each token is what its settings and its numbers make of the closed form, and so is each test."""
    for choice in choices:
        event, mode = choice.event, choice.setting.mode
        if isinstance(event, RoundEvent) and mode == "rejection" and not choice.column:
            _require_tests(choice, event)
        assert choice.token in _possible(choice), choice


def _possible(choice: Choice) -> set[int]:
    """The token, or the tokens that a rounding error separates."""
    event, params, history = choice.event, choice.setting.params, choice.history
    row = row_after(TRUNK, history)
    if choice.setting.mode == "greedy":
        return _largest(penalised(row, history, params))
    if choice.place == "kept":
        return {choice.token}  # the account has compared it with what was trimmed
    assert isinstance(event, DrawEvent | RoundEvent)
    assert event.mode == choice.setting.mode
    seed = _seed(params)
    if choice.setting.mode == "coupled":
        return _noisy(row, history, params, event.sctr + choice.column)
    if isinstance(event, DrawEvent):
        return _inverted(distribution(row, history, params), uniform(seed, Role.TARGET_DRAW, event.sctr))
    if choice.column < event.accepted:
        return {event.drafted[choice.column]}
    p = distribution(row, history, params)
    if choice.rejected is not None:
        p = residual(p, _q(event, history, params, choice.column))
    return _inverted(p, uniform(seed, Role.TARGET_DRAW, event.sctr + event.draws - 1))


def _require_tests(choice: Choice, event: RoundEvent) -> None:
    """Drafts, accept tests and their verdicts of one round in rejection mode; `choice` is its first token."""
    params, text = choice.setting.params, list(choice.history)
    drawn = event.draws - (event.bonus is not None)
    assert len(event.test_p) == len(event.test_q) == len(event.test_u)
    assert len(event.test_u) == event.accepted + event.correction
    for i, draft in enumerate(event.drafted):
        q = _q(event, text, params, i)
        if drawn:
            assert draft in _inverted(q, uniform(_seed(params), Role.DRAFT_DRAW, event.sctr + i))
        if i < len(event.test_u):
            p, number = (
                distribution(row_after(TRUNK, text), text, params),
                uniform(_seed(params), Role.ACCEPT, event.uctr + i),
            )
            assert event.test_u[i] == number, "not the number that the counter stands for"
            assert math.isclose(event.test_p[i], p[draft], abs_tol=ROUNDING)
            assert math.isclose(event.test_q[i], q[draft], abs_tol=ROUNDING)
            u_q = torch.tensor(event.test_u[i]) * torch.tensor(event.test_q[i])  # in fp32, as the walk does
            assert bool(u_q < torch.tensor(event.test_p[i])) == (i < event.accepted), "a verdict that its test denies"
        text.append(draft)


def _q(event: RoundEvent, text: Sequence[int], params: SamplingParams, column: int) -> list[float]:
    """What draft number `column` was drawn from; a point mass if none was drawn."""
    if event.draws - (event.bonus is not None) > 0:
        return distribution(row_after(DRAFT, text), text, params)
    return [float(token == event.drafted[column]) for token in range(len(TRUNK))]


def _noisy(row: torch.Tensor, history: Sequence[int], params: SamplingParams, index: int) -> set[int]:
    shaped = scores(row, history, params)
    return _largest([a + b for a, b in zip(shaped, noise(_seed(params), index, len(shaped)), strict=True)])


def _largest(row: Sequence[float]) -> set[int]:
    return {token for token, score in enumerate(row) if score >= max(row) - ROUNDING}


def _inverted(p: Sequence[float], u: float) -> set[int]:
    """Where the cumulative distribution passes `u`."""
    found, below = set(), 0.0
    for token, one in enumerate(p):
        if one > 0 and below - ROUNDING <= u <= below + one + ROUNDING:
            found.add(token)
        below += one
    return found


def _seed(params: SamplingParams) -> int:
    assert params.seed is not None, "the trace does not say which seed"
    return params.seed
