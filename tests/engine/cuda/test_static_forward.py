"""The forward that is captured gives the bits of `Trunk.forward`, whatever the slot, the start and the width."""

from __future__ import annotations

import pytest
import torch

from engine.cuda.device_path import DevicePath
from engine.cuda.fit import open_path
from engine.cuda.fused_attention import FusedAttention, unfuse_attention
from tests.factories import ARCHS, VOCAB

STEPS = ((128, 128), (8, 5), (8, 8), (4, 3), (8, 1), (16, 9), (4, 4))
"""(width, tokens) of forwards one after the other: prefills, and rounds that a graph serves."""


def _open(trunk, slots=3):
    path, why = open_path(trunk)
    assert path is not None, why
    path.prepare(slots, 300, (4, 8))
    return path


def _tokens(seed):
    return torch.randint(0, VOCAB, (200,), generator=torch.Generator().manual_seed(seed)).tolist()


def _same_steps(plain, path, slot, tokens, shift=0, pooled=True):
    """Both ways through STEPS; the first part that differs, or None."""
    reference, at = plain.new_slot(300), 0
    for width, count in STEPS:
        chunk = tokens[at : at + count]
        keep = [count - 1] if width > 8 else range(count)
        expected = plain.forward(reference, at, chunk, width, keep=keep)
        got = path.forward(slot, at, [(t + shift) % VOCAB for t in chunk], width, keep=keep)
        if not (torch.equal(got.logits, expected.logits) and torch.equal(got.hidden, expected.hidden)):
            return f"results at {at}"
        assert bool(got.report[0]) and got.graphed == (pooled and width in (4, 8))
        at += count
        for one in (reference, slot):
            one.truncate(at)
        for ours, theirs in zip(slot.slot_layers, reference.slot_layers, strict=True):
            if not torch.equal(ours.keys[:, :at], theirs.keys[:, :at]):
                return f"keys at {at}"
            if not torch.equal(ours.values[: at // 128], theirs.values[: at // 128]):
                return f"values at {at}"
    return None


@pytest.mark.parametrize("name", ARCHS)
def test_every_slot_and_width_gives_the_same_bits(new_trunk, name):
    plain, trunk = new_trunk(name), new_trunk(name)
    path = _open(trunk)
    assert sum(isinstance(m, FusedAttention) for m in trunk.model.modules()) == len(trunk.shapes)
    lent = [path.lease() for _ in range(3)]
    own = trunk.new_slot(300)
    for seed, slot in enumerate((lent[2], lent[0], own, lent[2])):
        slot.truncate(0)
        assert _same_steps(plain, path, slot, _tokens(seed), pooled=slot is not own) is None
    assert path.graphs.captures == 2


@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2"])
def test_layers_that_are_not_fused_reach_the_pool_through_the_interface(new_trunk, name):
    plain, trunk = new_trunk(name), new_trunk(name)
    path = _open(trunk)
    unfuse_attention(trunk.model)
    slot = path.lease()
    assert _same_steps(plain, path, slot, _tokens(7)) is None


@pytest.mark.parametrize("name", ["qwen2", "gemma2", "phi3"])
def test_joined_products_give_the_same_to_rounding_and_leave_the_layers_whole(new_trunk, name):
    plain, trunk = new_trunk(name), new_trunk(name)
    path, before = _open(trunk), dict(plain.model.state_dict())
    for module in trunk.model.modules():
        if isinstance(module, FusedAttention):
            module.join()
            assert (module.joined is None) == (name == "phi3")
            projections = [] if name == "phi3" else [module.inner.q_proj, module.inner.k_proj, module.inner.v_proj]
            for linear in projections:
                assert linear.weight.untyped_storage().data_ptr() == module.joined.weight.untyped_storage().data_ptr()
    slot, tokens = path.lease(), _tokens(5)
    expected = plain.forward(plain.new_slot(300), 0, tokens[:90], 128, keep=[89])
    got = path.forward(slot, 0, tokens[:90], 128, keep=[89])
    assert torch.allclose(got.logits, expected.logits, rtol=1e-4, atol=1e-4)
    assert torch.allclose(got.hidden, expected.hidden, rtol=1e-4, atol=1e-4)
    unfuse_attention(trunk.model)
    after = trunk.model.state_dict()
    assert after.keys() == before.keys() and all(torch.equal(after[key], before[key]) for key in before)


def test_teeth_other_tokens_a_wrong_slot_or_a_wrong_place_are_seen(new_trunk):
    plain, trunk = new_trunk("llama"), new_trunk("llama")
    path = _open(trunk)
    slot, other = path.lease(), path.lease()
    assert _same_steps(plain, path, slot, _tokens(1), shift=1) == "results at 0"
    slot.truncate(0)
    slot.index, before = other.index, slot.index
    assert _same_steps(plain, path, slot, _tokens(1)) == "keys at 128"
    slot.index = before
    slot.truncate(40)
    at_forty = path.forward(slot, 40, [5, 6, 7], 4, keep=[2])
    assert not torch.equal(at_forty.logits, path.forward(slot, 39, [5, 6, 7], 4, keep=[2]).logits)


def test_drafts_on_the_device_are_columns_like_any_other_and_the_walk_is_over_them(new_trunk):
    trunk = new_trunk("qwen3")
    path = _open(trunk)
    slot, tokens = path.lease(), _tokens(3)
    path.forward(slot, 0, tokens[:30], 32)
    slot.truncate(30)
    known = path.forward(slot, 30, [7, 8, 9], 8, keep=range(3))
    right = known.logits.argmax(-1)
    drafts = torch.tensor([int(right[0]), 11, 12])
    unread = path.forward(slot, 30, [7], 8, keep=range(4), drafts=drafts)
    read = path.forward(slot, 30, [7, *drafts.tolist()], 8, keep=range(4))
    assert torch.equal(unread.logits, read.logits) and torch.equal(unread.hidden, read.hidden)
    assert unread.report.tolist() == read.report.tolist() == [1, 1, int(read.logits[1].argmax()), 0]
    none = path.forward(slot, 30, [7], 8, keep=range(4), drafts=torch.tensor([-1, 11, 12]))
    assert none.report.tolist() == [1, 0, int(right[0]), 0], "a draft that was not made ends the walk"


def test_what_is_not_finite_is_reported_and_refused(new_trunk):
    trunk = new_trunk("llama")
    path = _open(trunk)
    slot = path.lease()
    path.forward(slot, 0, [3, 4, 5], 4)
    slot.truncate(3)
    with torch.no_grad():
        trunk.model.get_input_embeddings().weight[9] = float("nan")
    out = path.forward(slot, 3, [9], 4, keep=[0])
    assert out.report[0] == 0
    error = path.unchecked(out, slot, 3).refuse()
    assert "not a number at position 3" in str(error)
    assert slot.length == 3 and all(torch.isfinite(layer.keys).all() for layer in slot.slot_layers)
    assert isinstance(path, DevicePath) and bool(path.forward(slot, 3, [8], 4, keep=[0]).report[0])
