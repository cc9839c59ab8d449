"""Each gate must bite: a deliberately broken twin of the engine fails the comparison that the engine passes.

The comparison is the one that exactness rests on: rows of the same tokens, decided once from a prefill and rounds of
one split and again from others, at shifting columns, must have the same bits. The twins differ from the engine in
one thing: transformers' own `sdpa` attention in prefill, the same in rounds, or a round width of 5.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache

import engine.rules.greedy as greedy_rule
from engine import generate_spec_session
from engine.accept import accept_greedy
from engine.trunk import implementation
from tests.factories import VOCAB
from tests.oracle import PlainOracle
from tests.scripts import run_turn, tiny_script

if TYPE_CHECKING:
    from engine import Engine
    from engine.cache import CacheSlot

ROWS = 28
"""Rows compared, from FIRST on."""
FIRST = 112
Forward = Callable[["CacheSlot", int, list[int]], Tensor]
"""(slot, start, tokens) -> logits [len(tokens), V] or less; writes the rows."""


@dataclass(frozen=True)
class Twin:
    """How a trunk prefills and how it runs rounds, and how many columns a round has."""

    prefill: Forward
    rounds: Forward
    width: int


def ours(engine: Engine, width: int, *, logits: bool) -> Forward:
    """The engine's own forward at `width`."""

    def forward(slot: CacheSlot, start: int, tokens: list[int]) -> Tensor:
        keep = range(len(tokens)) if logits else ()
        return engine.trunk.forward(slot, start, tokens, width, keep=keep).logits

    return forward


def stock(engine: Engine, width: int | None) -> Forward:
    """transformers' `sdpa` over a copy of the slot's rows, padded as the engine pads; the new rows are copied back."""
    model = engine.trunk.model

    def forward(slot: CacheSlot, start: int, tokens: list[int]) -> Tensor:
        cache = DynamicCache()
        for index, layer in enumerate(slot.slot_layers):
            keys, values = rows_of(layer, start)
            if start:
                cache.update(keys, values, index)
        padded = tokens + [tokens[-1]] * ((width or len(tokens)) - len(tokens))
        positions = torch.arange(start, start + len(padded)).clamp(max=start + len(tokens) - 1)[None]
        with torch.inference_mode(), implementation(model, "sdpa"):
            out = model(input_ids=torch.tensor([padded]), position_ids=positions, cache=cache, use_cache=True)
        slot.write_at(start, len(tokens))
        end = start + len(tokens)
        for index, layer in enumerate(slot.slot_layers):
            layer.update(
                cache.layers[index].keys[:, :, start:end].clone(), cache.layers[index].values[:, :, start:end].clone()
            )
        return out.logits[0, : len(tokens)]

    return forward


def rows_of(layer, length: int) -> tuple[Tensor, Tensor]:
    """Keys and values [1, KVH, length, D] of the first rows of a slot's layer."""
    blocks, heads, block, dim = layer.values.shape
    values = layer.values.permute(1, 0, 2, 3).reshape(heads, blocks * block, dim)
    return layer.keys[None, :, :length].clone(), values[None, :, :length].clone()


def decide(engine: Engine, twin: Twin, tokens: list[int], prefilled: int, step: int, chunk: int) -> dict[int, Tensor]:
    """Logits by position from FIRST on: `prefilled` rows in chunks, then rounds that advance by `step` rows."""
    slot = engine.trunk.new_slot(len(tokens) + engine.width)
    for start in range(0, prefilled, chunk):
        piece = tokens[start : min(start + chunk, prefilled)]
        twin.prefill(slot, start, piece)
        slot.truncate(start + len(piece))
    rows: dict[int, Tensor] = {}
    for start in range(prefilled, len(tokens), step):
        slot.truncate(start)
        piece = tokens[start : start + twin.width]
        for column, row in enumerate(twin.rounds(slot, start, piece)[:step]):
            rows[start + column] = row.clone()
    return {position: row for position, row in rows.items() if position >= FIRST}


def gate_tokens() -> list[int]:
    """Random ids that cross the edge of an attention block."""
    return torch.randint(3, 300, (FIRST + ROWS,), generator=torch.Generator().manual_seed(7)).tolist()


def different_rows(engine: Engine, twin: Twin) -> int:
    """The gate: how many rows of two decisions of the same tokens differ in any bit."""
    tokens = gate_tokens()
    reference = decide(engine, twin, tokens, prefilled=FIRST, step=1, chunk=16)
    assert len(reference) == ROWS
    different: set[int] = set()
    for prefilled, step, chunk in ((FIRST, 4, 32), (FIRST + 17, 3, 64), (FIRST - 9, twin.width, 37)):
        again = decide(engine, twin, tokens, prefilled, step, chunk)
        different |= {p for p in again if p in reference and not torch.equal(again[p], reference[p])}
    return len(different)


def twins(engine: Engine) -> dict[str, Twin]:
    """The engine as it is, and its three broken twins."""
    width = engine.width
    prefill = ours(engine, 64, logits=False)
    rounds = ours(engine, width, logits=True)
    return {
        "engine": Twin(prefill, rounds, width),
        "sdpa in prefill": Twin(stock(engine, None), rounds, width),
        "sdpa in rounds": Twin(prefill, stock(engine, width), width),
        "width 5": Twin(prefill, ours(engine, 5, logits=True), 5),
    }


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("arch", ["llama", "mistral", "gemma2"])
def test_the_engine_passes_the_gate_on_tiny_models(tiny_engine, arch, dtype):
    engine = tiny_engine(arch, dtype)
    assert engine.exact
    assert different_rows(engine, twins(engine)["engine"]) == 0


@pytest.mark.parametrize("twin", ["sdpa in prefill", "sdpa in rounds"])
@pytest.mark.parametrize("arch", ["llama", "qwen3"])
def test_a_broken_twin_fails_the_gate_on_tiny_models(tiny_engine, arch, twin):
    engine = tiny_engine(arch)
    assert different_rows(engine, twins(engine)[twin]) > 0


@pytest.mark.parametrize("twin", ["sdpa in prefill", "sdpa in rounds"])
def test_a_twin_is_right_but_for_rounding(tiny_engine, twin):
    """A twin that failed because of a mistake in these tests would have no teeth."""
    engine = tiny_engine("llama")
    kinds = twins(engine)
    exact = decide(engine, kinds["engine"], gate_tokens(), FIRST, 2, 64)
    broken = decide(engine, kinds[twin], gate_tokens(), FIRST, 2, 64)
    for position, row in exact.items():
        assert torch.allclose(row, broken[position], atol=1e-3)
        assert row.std() > 0.1


@pytest.mark.slow
def test_the_engine_passes_the_gate_on_the_default_checkpoint(default_engine):
    assert default_engine.exact
    assert different_rows(default_engine, twins(default_engine)["engine"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("twin", ["sdpa in prefill", "sdpa in rounds"])
def test_a_broken_twin_fails_the_gate_on_the_default_checkpoint(default_engine, twin):
    assert different_rows(default_engine, twins(default_engine)[twin]) > 0


@pytest.mark.slow
def test_with_stock_products_the_probed_width_passes_and_a_width_of_5_fails():
    """Packed products keep a row's bits at any width; torch's own do not, which is what the width probe is for.

    Two threads: how a product is shared among them decides which widths keep the bits, and one thread keeps them at 5.
    """
    from engine import load_engine

    engine = load_engine("default", device="cpu", dtype="float32", max_ctx=512, slots=1, threads=2, pack=False)
    assert engine.exact
    assert different_rows(engine, twins(engine)["engine"]) == 0
    assert different_rows(engine, twins(engine)["width 5"]) > 0
    engine.close()


# --- the token gates: broken rules must change tokens, or be caught before -----------------------------------------


def run_with(tiny_engine, monkeypatch, rule) -> bool:
    """Whether a short script under the broken accept rule is still what plain decoding says."""
    engine = tiny_engine("llama")
    oracle = PlainOracle(engine)
    script = tiny_script(VOCAB, seed=0)
    history: list[int] = []
    want = []
    for suffix, new in script.turns:
        history += suffix
        want.append(oracle.continuation(history, new))
        history += want[-1]
    monkeypatch.setattr(greedy_rule, "accept_greedy", rule)
    session = engine.new_session(drafter="ngram", draft_len=4)
    got = [run_turn(session, suffix, new, 7, "trim") for suffix, new in script.turns]
    session.close()
    return got == want


def shifted(drafts, choices, stop_ids):
    """Judges each draft by the choice after the next column."""
    return accept_greedy(drafts, [*choices[1:], choices[-1]], stop_ids)


def generous(drafts, choices, stop_ids):
    """Takes every draft for right."""
    return accept_greedy(drafts, [*drafts, choices[-1]], stop_ids)


def wrong_bonus(drafts, choices, stop_ids):
    """Gives the bonus of the last column instead of the one after the last accepted."""
    outcome = accept_greedy(drafts, choices, stop_ids)
    if outcome.bonus is None:
        return outcome
    return dataclasses.replace(
        outcome, bonus=choices[-1], pending=choices[-1], tokens=(*outcome.tokens[:-1], choices[-1])
    )


def stale_row(drafts, choices, stop_ids):
    """Keeps the row of the first rejected draft."""
    outcome = accept_greedy(drafts, choices, stop_ids)
    return dataclasses.replace(outcome, rows=min(outcome.rows + 1, len(drafts) + 1))


def test_the_right_rule_passes(tiny_engine, monkeypatch):
    assert run_with(tiny_engine, monkeypatch, accept_greedy)


@pytest.mark.parametrize("rule", [shifted, generous, wrong_bonus, stale_row])
def test_a_broken_accept_rule_is_noticed(tiny_engine, monkeypatch, rule):
    try:
        same = run_with(tiny_engine, monkeypatch, rule)
    except AssertionError:
        return  # the session's own check noticed first
    assert not same


def test_a_stale_row_is_noticed_by_the_sessions_own_check(tiny_engine, monkeypatch):
    """Rows that do not match `committed` must not survive the call that made them."""
    engine = tiny_engine("llama")
    assert engine.debug, "the invariant checks are off in the test suite"
    session = engine.new_session(drafter="ngram", draft_len=4)
    generate_spec_session(session, list(range(20, 40)), 6, ignore_eos=True)
    session.slot.truncate(session.slot.length - 1)
    with pytest.raises(AssertionError, match="I1"):
        generate_spec_session(session, [], 0)
    session.close()
