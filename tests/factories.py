"""Tiny random checkpoints, one per architecture the engine serves: built in a second, saved like real ones.

Default initialisations give models whose greedy stream is one token for ever; such a stream would hide every
off-by-one. So weights are scaled until the streams wander, repeat parts of themselves, and wander again:
`tests/engine/test_exactness.py` asserts it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    GemmaConfig,
    GenerationConfig,
    LlamaConfig,
    MistralConfig,
    Phi3Config,
    PretrainedConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
VOCAB = 331
"""Rows of the models' embeddings: more than the tokenizer has ids, and not a multiple of 8."""
SLIDING_WINDOW = 24
MAX_POSITIONS = 1024

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

_TEXT = [
    "The quick brown fox jumps over the lazy dog, and the dog does not mind at all.",
    "A session keeps its rows; a round drafts, verifies, accepts and commits.",
    "user assistant system You are a helpful assistant. Hello! What is the capital of the country?",
    "Numbers: 0 1 2 3 4 5 6 7 8 9 10 11 12. Grüße, señor, naïve café, 日本語, 你好, 🙂🚀.",
]


def build_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE with a few dozen merges, the ChatML template and `<|im_end|>` as end of turn."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB - 6,
        special_tokens=SPECIALS,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    core.train_from_iterator(_TEXT * 3, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>"],
        clean_up_tokenization_spaces=False,
        model_max_length=MAX_POSITIONS,
    )
    tokenizer.chat_template = CHATML
    return tokenizer


@dataclass(frozen=True)
class Arch:
    """One architecture: its configuration and how its weights are drawn."""

    name: str
    config: Callable[..., PretrainedConfig]
    options: dict[str, object]
    seed: int
    gain: float
    """Standard deviation of a linear output for an input of unit variance; chaos grows with it."""
    embed: float
    """Standard deviation of the embedding: how much of the present token survives in the residual stream."""
    unit_norm: bool = True
    """Whether norm weights are centred on 1; Gemma stores `weight - 1`."""


_SMALL: dict[str, object] = {
    "vocab_size": VOCAB,
    "hidden_size": 48,
    "intermediate_size": 72,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": MAX_POSITIONS,
    "tie_word_embeddings": False,
}

_ARCHS = [
    Arch(
        "llama",
        LlamaConfig,
        _SMALL | {"num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2},
        seed=1,
        gain=0.7,
        embed=0.7,
    ),
    Arch(
        "mistral",
        MistralConfig,
        _SMALL | {"sliding_window": SLIDING_WINDOW, "num_key_value_heads": 1},
        seed=2,
        gain=0.9,
        embed=0.7,
    ),
    Arch(
        "qwen2",
        Qwen2Config,
        _SMALL | {"tie_word_embeddings": True, "hidden_size": 56},
        seed=3,
        gain=1.2,
        embed=0.1,
    ),
    Arch(
        "qwen3",
        Qwen3Config,
        _SMALL | {"head_dim": 16, "hidden_size": 32, "num_key_value_heads": 4},
        seed=4,
        gain=0.7,
        embed=0.7,
    ),
    Arch(
        "gemma",
        GemmaConfig,
        _SMALL | {"head_dim": 16, "hidden_size": 40, "num_key_value_heads": 1, "tie_word_embeddings": True},
        seed=5,
        gain=1.3,
        embed=0.08,
        unit_norm=False,
    ),
    Arch(
        "gemma2",
        Gemma2Config,
        _SMALL
        | {
            "head_dim": 16,
            "hidden_size": 40,
            "sliding_window": SLIDING_WINDOW,
            "query_pre_attn_scalar": 20,
            "attn_logit_softcapping": 5.0,
            "final_logit_softcapping": 30.0,
            "tie_word_embeddings": True,
        },
        seed=6,
        gain=1.6,
        embed=0.03,
        unit_norm=False,
    ),
    Arch(
        "phi3",
        Phi3Config,
        _SMALL | {"hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 2},
        seed=7,
        gain=0.7,
        embed=0.3,
    ),
]

ARCHS: dict[str, Arch] = {arch.name: arch for arch in _ARCHS}


def draw_weights(model: torch.nn.Module, arch: Arch) -> None:
    """Redraw every parameter of `model` in place from `arch`'s seed and scales."""
    random = torch.Generator().manual_seed(arch.seed)
    centre = 1.0 if arch.unit_norm else 0.0
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            noise = torch.randn(weight.shape, generator=random)
            if "norm" in name:
                weight.copy_(centre + 0.2 * noise)
            elif name.endswith("bias"):
                weight.copy_(0.3 * noise)
            elif "embed" in name:
                weight.copy_(arch.embed * noise)
            else:
                weight.copy_(noise * arch.gain / math.sqrt(weight.shape[-1]))


def build_checkpoint(name: str, folder: Path) -> Path:
    """Save the tiny checkpoint of architecture `name` in `folder` (made if missing) and return the folder."""
    arch = ARCHS[name]
    tokenizer = build_tokenizer()
    ids = {
        "bos_token_id": tokenizer.convert_tokens_to_ids("<|im_start|>"),
        "eos_token_id": tokenizer.convert_tokens_to_ids("<|im_end|>"),
        "pad_token_id": tokenizer.convert_tokens_to_ids("<|endoftext|>"),
    }
    config = arch.config(**(arch.options | ids), dtype="float32")
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    draw_weights(model, arch)
    model.generation_config = GenerationConfig(**ids)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
