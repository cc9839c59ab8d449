"""GGUF files: the converted model is the original one, and nothing nearly right gets through."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, quants
from transformers import AutoModelForCausalLM

from engine.checkpoints import load_checkpoint
from engine.checkpoints.gguf import converted_folder
from engine.checkpoints.progress import silent
from engine.errors import CheckpointError
from tests.engine.checkpoints.conftest import WriteGguf, llama_config, make_tokenizer, qwen2_config, qwen3_config

CPU = torch.device("cpu")
ODD = ["2024 and 7", "٣٤ ½²", " lead", "a\n\n\nb\t", "<|im_start|>user\nhi<|im_end|>\n", "é 日本 🙂", "I'm  x=3.14"]


def random_model(config) -> torch.nn.Module:
    torch.manual_seed(1)
    return AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()


def load(path: Path):
    return load_checkpoint(str(path), device=CPU, attn_implementation="eager")


def refused(path: Path, match: str) -> None:
    with pytest.raises(CheckpointError, match=match) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert str(path.parent) not in str(caught.value)


@pytest.mark.parametrize(
    ("arch", "config"), [("llama", llama_config()), ("qwen2", qwen2_config()), ("qwen3", qwen3_config())]
)
def test_the_converted_model_is_the_original(write_gguf: WriteGguf, arch: str, config) -> None:
    model = random_model(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_()  # they begin as zeros, which would hide a dropped one
    loaded = load(write_gguf(model, arch))
    expected = model.state_dict()
    actual = loaded.model.state_dict()
    assert set(actual) == set(expected)
    for name, tensor in expected.items():
        assert torch.equal(actual[name], tensor), name
    ids = torch.arange(20)[None]
    with torch.no_grad():
        assert torch.equal(loaded.model(ids).logits, model(ids).logits)


def test_blocks_are_unpacked_exactly(write_gguf: WriteGguf) -> None:
    model = random_model(llama_config())
    loaded = load(write_gguf(model, quant=GGMLQuantizationType.Q8_0))
    weight = model.model.layers[1].mlp.up_proj.weight.detach().numpy()
    packed = quants.quantize(weight, GGMLQuantizationType.Q8_0)
    expected = torch.from_numpy(quants.dequantize(packed, GGMLQuantizationType.Q8_0))
    assert torch.equal(loaded.model.model.layers[1].mlp.up_proj.weight, expected)
    assert loaded.model.dtype == torch.float32


def test_tokenizer_and_template_come_along(write_gguf: WriteGguf) -> None:
    original = make_tokenizer()
    loaded = load(write_gguf(random_model(llama_config())))
    for text in ODD:
        ids = original(text, add_special_tokens=False).input_ids
        assert loaded.tokenizer(text, add_special_tokens=False).input_ids == ids
        assert loaded.tokenizer.decode(ids) == text
    assert loaded.chat_template == original.chat_template
    assert loaded.stop_ids == {0, 2}
    assert loaded.id == "tiny-llama.gguf"


def test_converted_once_and_the_same_every_time(write_gguf: WriteGguf, cache: Path) -> None:
    path = write_gguf(random_model(llama_config()))
    said: list[str] = []
    first = converted_folder(path, lambda sentence, fraction: said.append(sentence))
    assert any("Converting" in sentence for sentence in said)
    content = (first / "model.safetensors").read_bytes()
    said.clear()
    assert converted_folder(path, lambda sentence, fraction: said.append(sentence)) == first
    assert not any("Converting" in sentence for sentence in said)
    (first / "model.safetensors").write_bytes(content[:-5])  # damaged in the cache: made again, the same
    assert converted_folder(path, silent) == first
    assert (first / "model.safetensors").read_bytes() == content
    assert sorted(p.name for p in cache.iterdir()) == ["converted"]


@pytest.mark.parametrize("at", [1, 3, 8])
def test_stopping_leaves_nothing_behind(write_gguf: WriteGguf, cache: Path, at: int) -> None:
    calls = 0

    def stop(sentence: str, fraction: float | None) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt

    path = write_gguf(random_model(llama_config()))
    with pytest.raises(KeyboardInterrupt):
        converted_folder(path, stop)
    assert not cache.exists() or list(cache.iterdir()) == []


@pytest.mark.parametrize("keep", [0, 3, 10, 30, 500, 5000, -1])
def test_truncated(write_gguf: WriteGguf, keep: int) -> None:
    path = write_gguf(random_model(llama_config()))
    path.write_bytes(path.read_bytes()[:keep])
    refused(path, "fetch it again")


def test_not_gguf(tmp_path: Path) -> None:
    path = tmp_path / "fake.gguf"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    refused(path, "is not a GGUF file")


def test_unsupported_architecture(write_gguf: WriteGguf) -> None:
    refused(write_gguf(random_model(llama_config()), "gemma2"), "only llama, qwen2, qwen3")


@pytest.mark.parametrize(
    "metadata", [{"rope__scaling__type": "yarn"}, {"rope__scaling__factor": 4.0}, {"attn_logit_softcapping": 50.0}]
)
def test_metadata_that_would_be_passed_over(write_gguf: WriteGguf, metadata: dict[str, object]) -> None:
    refused(write_gguf(random_model(llama_config()), **metadata), "cannot be honoured")


def test_metadata_that_asks_for_nothing(write_gguf: WriteGguf) -> None:
    path = write_gguf(random_model(llama_config()), rope__scaling__type="none", rope__scaling__factor=1.0)
    assert load(path).id == "tiny-llama.gguf"


def test_a_tensor_without_a_place(write_gguf: WriteGguf) -> None:
    path = write_gguf(random_model(llama_config()), extra={"blk.0.attn_q.bias": np.zeros(64, np.float32)})
    refused(path, "holds blk.0.attn_q.bias")


def test_a_tensor_is_missing(write_gguf: WriteGguf) -> None:
    model = random_model(llama_config(tie_word_embeddings=True))
    del model.model.layers[1].mlp.down_proj
    refused(write_gguf(model), "lacks model.layers.1.mlp.down_proj.weight")


def test_unknown_rule_of_splitting_text(write_gguf: WriteGguf) -> None:
    refused(write_gguf(random_model(llama_config()), pre="made-up"), "splits text by the rule 'made-up'")


def llama3_factors(config) -> np.ndarray:
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    theta, dim = config.rope_parameters["rope_theta"], config.head_dim
    plain = 1.0 / theta ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim)
    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config, CPU)
    return (plain / scaled).numpy().astype(np.float32)


def test_llama_3_rotary_factors(write_gguf: WriteGguf) -> None:
    rope = {
        "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
    }  # fmt: skip
    model = random_model(llama_config(rope_parameters=rope))
    factors = llama3_factors(model.config)
    assert factors.max() == pytest.approx(8.0)
    loaded = load(write_gguf(model, extra={"rope_freqs.weight": factors}))
    assert torch.allclose(loaded.model.model.rotary_emb.inv_freq, model.model.rotary_emb.inv_freq, rtol=1e-5)
    assert loaded.config.rope_parameters["rope_type"] == "llama3"
    refused(write_gguf(model, extra={"rope_freqs.weight": factors * 1.5}), "rotary factors of an unknown scheme")
