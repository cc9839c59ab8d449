"""Tiny checkpoints as folders and as GGUF files, and a cache folder of each test's own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, GGUFWriter, quants
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CORPUS = ["the quick brown fox jumps over the lazy dog 0 1 2 3 4 5 6 7 8 9", "a turn ends, a turn begins"] * 20


def make_tokenizer(template: str | None = CHATML, eos: str = "<|endoftext|>") -> PreTrainedTokenizerFast:
    """A byte-level BPE of about 300 entries; special tokens have the ids 0, 1, 2."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(CORPUS, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=eos, bos_token="<|im_start|>")
    tokenizer.chat_template = template
    return tokenizer


def save_folder(
    folder: Path, config: object, template: str | None = CHATML, dtype: torch.dtype = torch.float32
) -> Path:
    """A whole checkpoint with random weights, as `save_pretrained` writes it."""
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).to(dtype).save_pretrained(folder)
    make_tokenizer(template).save_pretrained(folder)
    return folder


def llama_config(**changes: object) -> LlamaConfig:
    """Two small layers; head size 16, so that a row is a whole number of GGUF blocks."""
    settings = {
        "vocab_size": len(make_tokenizer()),
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 256,
        "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "tie_word_embeddings": True,
        "bos_token_id": 1,
        "eos_token_id": 0,
        "pad_token_id": None,
    }
    return LlamaConfig(**(settings | changes))


def qwen3_config() -> Qwen3Config:
    """As `llama_config`, with a head size that does not follow from the hidden size, and untied embeddings."""
    settings = llama_config().to_dict()
    keep = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    keep += ("num_key_value_heads", "max_position_embeddings", "rms_norm_eps", "rope_parameters")
    return Qwen3Config(**{key: settings[key] for key in keep}, head_dim=32, tie_word_embeddings=False)


def qwen2_config() -> Qwen2Config:
    """As `llama_config`, with biases on query, key and value, and the head size that follows from the hidden size."""
    settings = llama_config().to_dict()
    keep = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    keep += ("num_key_value_heads", "max_position_embeddings", "rms_norm_eps", "rope_parameters")
    return Qwen2Config(**{key: settings[key] for key in keep}, tie_word_embeddings=True)


@pytest.fixture(scope="session")
def _folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("folders")
    save_folder(root / "llama", llama_config())
    return root


@pytest.fixture
def folder(_folders: Path, tmp_path: Path) -> Path:
    """A tiny Llama folder that the test may damage."""
    return Path(shutil.copytree(_folders / "llama", tmp_path / "tiny-llama"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """The cache folder of this test alone; tests marked `slow` share the user's, as the app does."""
    place = tmp_path / "cache"
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setenv("DRAFTSCOPE_CACHE", str(place))
    return place


def _permuted(weight: np.ndarray, heads: int) -> np.ndarray:
    """The row order GGUF keeps Llama's query and key projections in (pairs, not halves, are rotated)."""
    halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
    return halves.swapaxes(1, 2).reshape(weight.shape)


_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}

WriteGguf = Callable[..., Path]


@pytest.fixture
def write_gguf(tmp_path: Path) -> WriteGguf:
    """`write_gguf(model, arch="llama", quant=None, **metadata)` -> the file, written without transformers."""

    def write(
        model: torch.nn.Module,
        arch: str = "llama",
        quant: GGMLQuantizationType | None = None,
        pre: str = "smollm",
        extra: dict[str, np.ndarray] | None = None,
        **metadata: object,
    ) -> Path:
        path = tmp_path / f"tiny-{arch}.gguf"
        config = model.config
        writer = GGUFWriter(path, arch)
        writer.add_context_length(config.max_position_embeddings)
        writer.add_embedding_length(config.hidden_size)
        writer.add_block_count(config.num_hidden_layers)
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_head_count(config.num_attention_heads)
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
        head_dim = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
        writer.add_rope_dimension_count(head_dim)
        writer.add_key_length(head_dim)
        writer.add_vocab_size(config.vocab_size)
        for key, value in metadata.items():
            name = f"{arch}.{key.replace('__', '.')}"
            (writer.add_string if isinstance(value, str) else writer.add_float32)(name, value)
        _add_tokenizer(writer, pre)
        for name, tensor in model.state_dict().items():
            if name == "lm_head.weight" and config.tie_word_embeddings:
                continue
            _add_tensor(writer, name, tensor.float().numpy(), arch, config, quant)
        for name, array in (extra or {}).items():
            writer.add_tensor(name, array)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


def _add_tokenizer(writer: GGUFWriter, pre: str) -> None:
    import json

    tokenizer = make_tokenizer()
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list([token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda kv: kv[1])])
    writer.add_token_types([3 if i < len(SPECIALS) else 1 for i in range(len(tokenizer))])
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHATML)


def _add_tensor(
    writer: GGUFWriter,
    name: str,
    values: np.ndarray,
    arch: str,
    config: object,
    quant: GGMLQuantizationType | None,
) -> None:
    stem, _, suffix = name.rpartition(".")
    if stem.startswith("model.layers."):
        _, _, layer, part = stem.split(".", 3)
        stored = f"blk.{layer}.{_NAMES[part]}.{suffix}"
        if arch == "llama" and part in ("self_attn.q_proj", "self_attn.k_proj"):
            heads = config.num_attention_heads if part.endswith("q_proj") else config.num_key_value_heads
            values = _permuted(values, heads)
    else:
        stored = f"{_NAMES[stem]}.{suffix}"
    if quant is not None and values.ndim == 2:
        packed = quants.quantize(np.ascontiguousarray(values), quant)
        writer.add_tensor(stored, packed, raw_dtype=quant)
    else:
        writer.add_tensor(stored, np.ascontiguousarray(values, dtype=np.float32))
