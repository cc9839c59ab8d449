"""A model that the pool's attention would serve wrongly keeps the torch way, says so, and still decodes."""

from __future__ import annotations

import pytest
import torch

from engine import attention, generate_spec_session, load_engine
from engine.cuda import fit, fused_attention, pool_attention
from engine.cuda.fit import open_path
from engine.cuda.fused_attention import FusedAttention
from engine.events import RoundEvent

PROMPT = [5, 9, 14, 30, 7, 5, 9, 14]


def _refused(trunk, why):
    with pytest.warns(RuntimeWarning, match="the slower way, without graphs") as warned:
        path, said = open_path(trunk)
    assert path is None and why in said and len(warned) == 1
    assert trunk.path is None and trunk.model.config._attn_implementation == attention.NAME
    assert not any(isinstance(module, FusedAttention) for module in trunk.model.modules())
    return said


def test_a_mask_that_is_neither_full_nor_a_window_is_refused(new_trunk, monkeypatch):
    real = attention.additive_mask

    def chunked(*args, **kwargs):
        bias = real(*args, **kwargs)
        row, key = torch.arange(bias.shape[-2])[:, None], torch.arange(bias.shape[-1])
        return bias.masked_fill(key < row // 8 * 8, float("-inf"))

    monkeypatch.setattr(attention, "additive_mask", chunked)
    _refused(new_trunk("llama"), "masks its attention otherwise")


def test_teeth_a_window_one_key_too_wide_is_seen(new_trunk, monkeypatch):
    real = attention.additive_mask

    def wide(*args, **kwargs):
        bias = real(*args, **kwargs)
        row, key = torch.arange(bias.shape[-2])[:, None], torch.arange(bias.shape[-1])
        return bias.masked_fill(key == row - fit.WINDOW, 0.0)

    monkeypatch.setattr(attention, "additive_mask", wide)
    _refused(new_trunk("mistral"), "masks its attention otherwise")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mistral", fused_attention.Kind()),
        ("gemma2", fused_attention.Kind(window="layer")),
        ("llama", fused_attention.Kind(softcap="scaling")),
    ],
)
def test_a_fused_layer_that_means_something_else_is_seen(new_trunk, monkeypatch, name, kind):
    """A table that forgets a window or a soft-cap, or invents one."""
    trunk = new_trunk(name)
    cls = type(trunk.decoder.layers[0].self_attn)
    table = {f"{cls.__module__}.{cls.__qualname__}": kind}
    monkeypatch.setattr(fused_attention, "KINDS", table)
    _refused(trunk, "its fused layers do not know")


def test_other_results_are_refused(new_trunk, monkeypatch):
    """A layer whose norms the table forgot: what it passes to attention is right, what it computes is not."""
    trunk = new_trunk("qwen3")
    cls = type(trunk.decoder.layers[0].self_attn)
    table = {f"{cls.__module__}.{cls.__qualname__}": fused_attention.Kind(window="layer")}
    monkeypatch.setattr(fused_attention, "KINDS", table)
    _refused(trunk, "gives other results")


def test_an_error_of_the_model_is_the_reason(new_trunk, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("no kernel image\nfor this device")

    monkeypatch.setattr(fit.DevicePath, "forward", fail)
    assert _refused(new_trunk("llama"), "no kernel image") == "no kernel image"


def test_a_keyword_or_a_mask_that_is_not_known_is_refused():
    module = torch.nn.Identity()
    q = torch.zeros(1, 2, 4, 8)
    with pytest.raises(TypeError, match="does not hand keywords through"):
        pool_attention.pool_attention(module, q, q, q, None)
    place = pool_attention.Place(*torch.zeros(3, 1, dtype=torch.long))
    for options in ({"alibi": 1}, {"dropout": 0.1}):
        with pytest.raises(TypeError, match="not served exactly"):
            pool_attention.pool_attention(module, q, q, q, None, **{pool_attention.PLACE: place}, **options)
    with pytest.raises(TypeError, match="attention_mask"):
        pool_attention.pool_attention(module, q, q, q, torch.zeros(1, 1, 4, 4), **{pool_attention.PLACE: place})


def test_an_engine_whose_model_does_not_fit_decodes_the_torch_way(tiny_checkpoint, tiny_engine, monkeypatch):
    monkeypatch.setattr(fit, "_is_window", lambda call: False)
    with pytest.warns(RuntimeWarning, match="without graphs"):
        engine = load_engine(
            str(tiny_checkpoint("llama")), device="cpu", max_ctx=256, threads=1, device_path=True, drafter="ngram"
        )
    assert engine.device_path is None
    assert engine.graph_state.startswith("Forwards run without graphs: ") and "masks its" in engine.graph_state
    session, plain = engine.new_session(), tiny_engine("llama").new_session("ngram")
    for one in (session, plain):
        generate_spec_session(one, PROMPT, 20, ignore_eos=True)
    assert session.history == plain.history
    assert not any(event.graphed for event in session.trace.of(RoundEvent))
    plain.close()
    engine.close()
