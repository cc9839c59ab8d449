"""A transformers configuration from a GGUF file's metadata, or a refusal: never a configuration that is
nearly right.

transformers' reader passes over metadata it does not know, and the model then runs with defaults. Here every
key that describes the architecture is taken over, proven equal, or named in a refusal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig
from transformers.integrations.ggml import GGUF_CONFIG_MAPPING
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from engine.errors import CheckpointError

SUPPORTED = ("llama", "qwen2", "qwen3")
"""Architectures whose conversion the tests compare with the original model."""

_HEAD_DIM = ("rope.dimension_count", "attention.key_length", "attention.value_length")
_NEUTRAL: dict[str, tuple[Any, ...]] = {  # values that ask for nothing
    "rope.scaling.type": ("none", ""),
    "rope.scaling.factor": (1.0, 0.0),
    "rope.scaling.attn_factor": (1.0,),
    "attention.causal": (True,),
    "expert_count": (0,),
    "expert_used_count": (0,),
    "use_parallel_residual": (False,),
}
_IGNORED = ("tensor_data_layout",)  # says how a file was made, nothing about the model


def require_supported(architecture: str, file: str) -> None:
    """Raise `CheckpointError` unless files of this architecture are converted."""
    if architecture not in SUPPORTED:
        raise CheckpointError(
            f"{file} holds the architecture '{architecture}', and only {', '.join(SUPPORTED)} are read from "
            "GGUF: "
            "use its safetensors checkpoint."
        )


def build_config(path: Path, header: Any, metadata: dict[str, Any]) -> Any:
    """The `PretrainedConfig` that `path` describes; `header` is its `GgufHeader`.

    Raises `CheckpointError` for metadata that cannot be honoured.
    """
    arch = header.architecture
    values = load_gguf_checkpoint(str(path))["config"]
    values.pop("_model_name_or_path", None)
    head_dim = metadata.get(f"{arch}.attention.key_length")
    if head_dim is not None:
        values["head_dim"] = head_dim
    config = AutoConfig.for_model(values.pop("model_type"), **values)
    taken = {key for key, name in GGUF_CONFIG_MAPPING[arch].items() if name is not None}
    for key, value in metadata.items():
        prefix, _, rest = key.partition(".")
        if prefix == arch and rest not in taken and not _honoured(rest, value, config):
            raise CheckpointError(
                f"{path.name} sets {key} to {value}, which cannot be honoured: use its safetensors checkpoint."
            )
    if "rope_freqs.weight" in header.ggml_types:
        _set_llama3_rope(config, _rope_factors(path, header), path.name)
    return config


def _honoured(key: str, value: Any, config: Any) -> bool:
    if key in _HEAD_DIM:
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return bool(value == head_dim)
    return key in _IGNORED or value in _NEUTRAL.get(key, ())


def _rope_factors(path: Path, header: Any) -> torch.Tensor:
    """The per-frequency divisors that a Llama 3 file carries as a tensor; shape (head_dim / 2,)."""
    info = next(t for t in header.tensors if t.name == "rope_freqs.weight")
    blob = np.memmap(path, mode="r", dtype=np.uint8)
    start = header.data_start + info.offset
    if info.ggml_type != 0:
        raise CheckpointError(f"{path.name} holds rope_freqs.weight in an unexpected type: use its safetensors form.")
    return torch.from_numpy(np.array(blob[start : start + info.nbytes]).view(np.float32))


def _set_llama3_rope(config: Any, factors: torch.Tensor, file: str) -> None:
    """Put Llama 3.1's rotary scaling into `config` if it yields exactly the divisors of the file.

    The scaling (Llama 3.1 model card; `rope_type` "llama3") has four numbers. Files keep their result only,
    so the published ones are tried: the largest divisor is the factor, the other three never changed.
    """
    theta = config.rope_parameters["rope_theta"]
    plain = 1.0 / theta ** (torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim)
    parameters = {
        "rope_type": "llama3", "rope_theta": theta, "factor": float(factors.max()), "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
    }  # fmt: skip
    config.rope_parameters = parameters
    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
    if scaled.shape != factors.shape or not torch.allclose(plain / scaled, factors, rtol=1e-4):
        raise CheckpointError(f"{file} holds rotary factors of an unknown scheme: use its safetensors checkpoint.")
