"""Filters and penalties composed with the rejection walk: tokens follow the transformed trunk, prefix by prefix.

Penalties make row r depend on the drafts before it, so the rows of each of the 36 pairs of drafts are computed, and
every token is judged given the tokens before it. The closed form is a plain loop in doubles, not the kernels.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from kernels import categorical, penalties, row_filter
from kernels.philox import Role
from tests.kernels.chi_square import BOUND, fit
from tests.kernels.rounds import ROUNDS, uniforms, walk_all

VOCAB, COUNT = 6, 2
HISTORY = [0, 1, 1, 4, 0, 5]
_generator = torch.Generator().manual_seed(21)
TRUNK = torch.randn(COUNT + 1, VOCAB, generator=_generator) * 1.3
DRAFTER = TRUNK[:COUNT] + torch.randn(COUNT, VOCAB, generator=_generator) * 0.7

PLAIN = {
    "temperature": 1.0,
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
    "repetition": 1.0,
    "frequency": 0.0,
    "presence": 0.0,
    "last_n": 4,
}
SETTINGS = {
    "plain": PLAIN,
    "temperature": PLAIN | {"temperature": 0.6},
    "top_k": PLAIN | {"top_k": 3},
    "top_p": PLAIN | {"top_p": 0.75},
    "min_p": PLAIN | {"min_p": 0.2},
    "repetition": PLAIN | {"repetition": 1.8},
    "frequency": PLAIN | {"frequency": 0.8},
    "presence": PLAIN | {"presence": 1.1},
    "all": {
        "temperature": 1.4,
        "top_k": 5,
        "top_p": 0.9,
        "min_p": 0.08,
        "repetition": 1.3,
        "frequency": 0.3,
        "presence": 0.2,
        "last_n": 3,
    },
}
FILTERS = ("temperature", "top_k", "top_p", "min_p")


def _closed_form(logits: Tensor, context: list[int], setting: dict[str, float]) -> Tensor:
    """The transformed distribution of one row after `context`, fp64."""
    window = context[-int(setting["last_n"]) :]
    scores = []
    for token, score in enumerate(logits.double().tolist()):
        if token in context:
            score = score * setting["repetition"] if score < 0 else score / setting["repetition"]
        if token in window:
            score -= window.count(token) * setting["frequency"] + setting["presence"]
        scores.append(score / setting["temperature"])
    keep = sorted(range(VOCAB), key=lambda token: -scores[token])[: int(setting["top_k"]) or VOCAB]
    mass = {token: math.exp(scores[token]) for token in keep}
    total, above, kept = sum(mass.values()), 0.0, {}
    for token in keep:
        if not kept or above < setting["top_p"] * total:
            kept[token] = mass[token]
        above += mass[token]
    most = max(kept.values())
    kept = {token: m for token, m in kept.items() if m >= setting["min_p"] * most}
    return torch.tensor([kept.get(token, 0.0) for token in range(VOCAB)], dtype=torch.float64) / sum(kept.values())


def _transform(logits: Tensor, drafts: list[int], setting: dict[str, float]) -> Tensor:
    """[R, V] probabilities by the kernels."""
    out = penalties.reference(
        logits,
        torch.tensor(HISTORY),
        torch.tensor(drafts, dtype=torch.long),
        **{key: value for key, value in setting.items() if key not in FILTERS},
    )
    return row_filter.reference(out, **{key: setting[key] for key in FILTERS}).softmax(-1)


def _rows(setting: dict[str, float]) -> tuple[Tensor, Tensor, Tensor]:
    """p [V, V, 3, V] by both drafts, and q's rows: [V] for the first draft, [V, V] by it for the second."""
    p = torch.stack([torch.stack([_transform(TRUNK, [x, y], setting) for y in range(VOCAB)]) for x in range(VOCAB)])
    second = torch.stack([_transform(DRAFTER, [x], setting)[1] for x in range(VOCAB)])
    return p, _transform(DRAFTER[:1], [], setting)[0], second


def _walk(setting: dict[str, float], p: Tensor, drafted: str) -> tuple[Tensor, Tensor]:
    """Emitted tokens [rounds, 3] and their number, for drafts drawn, fixed, or drawn with a q that is not filtered."""
    _, first, second = _rows(setting)
    if drafted == "fixed":
        x, y = (torch.full((ROUNDS,), int(row.argmax())) for row in (first, second[int(first.argmax())]))
    else:
        u = uniforms(5, Role.DRAFT_DRAW, ROUNDS, COUNT)
        x = categorical.reference(first.expand(ROUNDS, VOCAB), u[:, 0])[0]
        y = categorical.reference(second[x], u[:, 1])[0]
    drafts = torch.stack([x, y], 1)
    q = torch.stack([first.expand(ROUNDS, VOCAB), second[x]], 1)
    if drafted == "unfiltered q":
        q = DRAFTER.softmax(-1).expand(ROUNDS, COUNT, VOCAB)
    walk = walk_all(p[x, y], None if drafted == "fixed" else q, drafts, seed=5)
    tokens = torch.cat([drafts, walk.token[:, None]], 1)
    tokens[torch.arange(ROUNDS), walk.accepted] = walk.token
    return tokens, walk.accepted + 1


def _verdicts(tokens: Tensor, length: Tensor, setting: dict[str, float]) -> dict[str, float]:
    """p-values of the token at each column, given each prefix before it."""
    found = {"": fit(tokens[:, 0], _closed_form(TRUNK[0], HISTORY, setting))}
    for x in range(VOCAB):
        one = (length > 1) & (tokens[:, 0] == x)
        if one.any():
            found[f"{x}"] = fit(tokens[one, 1], _closed_form(TRUNK[1], [*HISTORY, x], setting))
        for y in range(VOCAB):
            two = one & (length > 2) & (tokens[:, 1] == y)
            if two.any():
                found[f"{x} {y}"] = fit(tokens[two, 2], _closed_form(TRUNK[2], [*HISTORY, x, y], setting))
    return found


@pytest.mark.parametrize("drafted", ["drawn", "fixed"])
@pytest.mark.parametrize("name", list(SETTINGS))
def test_tokens_follow_the_transformed_trunk(name, drafted):
    setting = SETTINGS[name]
    tokens, length = _walk(setting, _rows(setting)[0], drafted)
    found = _verdicts(tokens, length, setting)
    assert int((length > 2).sum()) > 1_000 and min(found.values()) > BOUND, found


@pytest.mark.parametrize("name", ["top_k", "top_p", "min_p", "repetition", "frequency", "presence"])
def test_a_setting_left_out_is_noticed(name):
    """Teeth: the test above depends on each filter and each penalty."""
    tokens, length = _walk(PLAIN, _rows(PLAIN)[0], "drawn")
    assert min(_verdicts(tokens, length, SETTINGS[name]).values()) < BOUND


@pytest.mark.parametrize("drafted", ["drawn", "fixed"])
@pytest.mark.parametrize("name", ["top_k", "top_p", "min_p"])
def test_the_neighbouring_rows_filter_is_noticed(name, drafted):
    """Teeth: row j keeps what is at or above row j - 1's threshold."""
    setting = SETTINGS[name]
    scores = TRUNK / setting["temperature"]
    kept = row_filter.reference(TRUNK, **{key: setting[key] for key in FILTERS})
    threshold = torch.where(kept > -math.inf, kept, math.inf).amin(-1, keepdim=True)
    wrong = torch.where(scores < threshold.roll(1, 0), -math.inf, scores)
    wrong[0] = kept[0]
    rows = wrong.softmax(-1).expand(VOCAB, VOCAB, -1, -1)
    assert min(_verdicts(*_walk(setting, rows, drafted), setting).values()) < BOUND


@pytest.mark.parametrize("name", ["repetition", "frequency", "presence"])
def test_penalties_that_do_not_see_the_accepted_prefix_are_noticed(name):
    setting = SETTINGS[name]
    blind = torch.cat([_transform(row[None], [], setting) for row in TRUNK]).expand(VOCAB, VOCAB, -1, -1)
    assert min(_verdicts(*_walk(setting, blind, "drawn"), setting).values()) < BOUND


def test_a_q_that_the_drafts_were_not_drawn_from_is_noticed():
    """Teeth: drafts drawn from the filtered row, tested against the unfiltered one."""
    setting = SETTINGS["all"]
    tokens, length = _walk(setting, _rows(setting)[0], "unfiltered q")
    assert min(_verdicts(tokens, length, setting).values()) < BOUND
