"""The device path by the Triton forms, in the interpreter: their arguments and strides as the path gives them."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton", reason="Triton has no package for this platform")

from engine import generate_spec_session
from engine.cuda.fit import open_path
from engine.cuda.fused_attention import fuse_attention
from engine.fused_modules import fuse, unfuse
from kernels.dispatch import force
from tests.factories import VOCAB

PROMPT = [5, 9, 14, 30, 7, 5, 9, 14]


@pytest.mark.triton
@pytest.mark.parametrize("name", ["llama", "gemma2", "qwen3", "phi3"])
def test_a_forward_by_the_kernels_agrees_with_the_references(new_trunk, name):
    trunk = new_trunk(name)
    path, why = open_path(trunk)
    assert path is not None, why
    path.prepare(2, 128, (4,))
    tokens = torch.randint(0, VOCAB, (40,), generator=torch.Generator().manual_seed(2)).tolist()
    results = []
    for form in ("reference", "fused"):
        slot = path.lease()
        with force(form):
            if form == "fused":
                fuse(trunk.model, force=True)
                for layer in fuse_attention(trunk.model):
                    layer.join()
            path.forward(slot, 0, tokens[:36], 36)
            slot.truncate(36)
            results.append(path.forward(slot, 36, tokens[36:], 4, keep=range(4)))
        slot.truncate(0)
    unfuse(trunk.model)
    expected, got = results
    assert torch.allclose(got.logits, expected.logits, rtol=1e-3, atol=1e-3)
    assert torch.allclose(got.hidden, expected.hidden, rtol=1e-3, atol=1e-3)
    assert got.report.tolist() == expected.report.tolist()


@pytest.mark.triton
def test_rounds_by_the_kernels_say_the_same(path_engine, tiny_checkpoint):
    engine = path_engine("llama")
    texts = []
    for form in ("reference", "fused"):
        session = engine.new_session(f"model:{tiny_checkpoint('llama')}", 3)
        with force(form):
            generate_spec_session(session, PROMPT, 6, ignore_eos=True, overshoot="trim")
        texts.append(session.history)
        session.close()
    assert texts[0] == texts[1]
