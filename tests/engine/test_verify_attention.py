"""What cannot be served exactly is refused with its reason, before anything runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    GptOssConfig,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    Phi3Config,
)
from transformers.masking_utils import causal_mask_function

from engine import CheckpointError, Engine, verify_attention
from engine import attention as adapter
from engine.trunk import Trunk
from engine.verify_attention import require_servable

SMALL = {
    "vocab_size": 101,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


def _trunk(config) -> Trunk:
    torch.manual_seed(0)
    return Trunk(AutoModelForCausalLM.from_config(config, attn_implementation=adapter.NAME).eval())


def test_sinks_and_alternating_windows_are_served():
    """GPT-OSS has sink logits and a sliding window in every other layer."""
    config = GptOssConfig(**SMALL, num_local_experts=4, num_experts_per_tok=2, sliding_window=24)
    trunk = _trunk(config)
    for layer in trunk.decoder.layers:
        layer.self_attn.sinks.data.fill_(1.5)
    require_servable(trunk, 256)


def test_a_class_that_computes_attention_itself_is_refused():
    config = BloomConfig(vocab_size=101, hidden_size=48, n_layer=2, n_head=6)
    with pytest.raises(CheckpointError, match="does not route its attention"):
        require_servable(_trunk(config), 256)


def test_a_recurrent_model_is_refused():
    config = MambaConfig(vocab_size=101, hidden_size=48, num_hidden_layers=2)
    model = AutoModelForCausalLM.from_config(config)
    with pytest.raises(CheckpointError, match=r"tiny-mamba is a MambaForCausalLM, which this engine cannot serve"):
        Engine(SimpleNamespace(id="tiny-mamba", model=model), max_ctx=256)


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_rotary_factors_that_read_the_forward_are_served_only_below_their_switch(kind):
    rope = {"rope_type": kind, "rope_theta": 10000.0, "factor": 4.0}
    small = dict(SMALL)
    if kind == "longrope":
        rope |= {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "original_max_position_embeddings": 64}
        config = Phi3Config(**(small | {"head_dim": 8}), rope_parameters=rope, original_max_position_embeddings=64)
        limit = 64
    else:
        config = LlamaConfig(**(small | {"max_position_embeddings": 64}), rope_parameters=rope)
        limit = 64
    trunk = _trunk(config)
    require_servable(trunk, limit)
    with pytest.raises(CheckpointError, match=f"--max-ctx {limit}"):
        require_servable(trunk, limit + 1)


def test_an_attention_keyword_we_do_not_know_is_refused(monkeypatch):
    trunk = _trunk(LlamaConfig(**SMALL))
    real = adapter.blockwise_attention
    monkeypatch.setattr(
        adapter, "blockwise_attention", lambda *args, **kwargs: real(*args, **kwargs, alibi_slopes=torch.ones(6))
    )
    with pytest.raises(CheckpointError, match="alibi_slopes"):
        require_servable(trunk, 256)


def test_attention_that_disagrees_with_eager_is_refused(monkeypatch):
    """Teeth: the comparison must notice a window that is ignored."""
    trunk = _trunk(MistralConfig(**SMALL, sliding_window=24))
    with torch.no_grad():
        for parameter in trunk.model.parameters():
            parameter.mul_(8)  # sharp attention, so that far keys matter
    require_servable(trunk, 256)
    real = adapter.additive_mask

    def causal_only(*args, mask_function, **kwargs):
        return real(*args, mask_function=causal_mask_function, **kwargs)

    monkeypatch.setattr(adapter, "additive_mask", causal_only)
    with pytest.raises(CheckpointError, match="other logits"):
        require_servable(trunk, 256)
    monkeypatch.undo()
    adapter.register()


def test_the_window_and_the_implementation_are_put_back():
    trunk = _trunk(MistralConfig(**SMALL, sliding_window=24))
    require_servable(trunk, 256)
    assert trunk.model.config.sliding_window == 24
    assert trunk.model.config._attn_implementation == adapter.NAME
    assert verify_attention.attention.AttentionInterface()[adapter.NAME] is adapter.blockwise_attention
