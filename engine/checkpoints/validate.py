"""What a checkpoint folder must hold, checked before any weight is read; each refusal is one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers import AutoConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from engine.checkpoints.safetensors_file import TensorSpec, read_header
from engine.errors import CheckpointError

INDEX = "model.safetensors.index.json"
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "spiece.model", "tekken.json")
_DECODER_SUFFIXES = ("ForCausalLM", "LMHeadModel")


def read_config(folder: Path, *, trust_remote_code: bool = False) -> Any:
    """The folder's configuration, if it is a decoder-only causal language model that can be served.

    Returns a `PretrainedConfig`. Raises `CheckpointError` otherwise, without running code from the folder
    unless `trust_remote_code`.
    """
    raw = _read_json(folder, "config.json")
    name = folder.name
    model_type = raw.get("model_type")
    foreign = model_type not in CONFIG_MAPPING_NAMES
    if foreign and "auto_map" not in raw:
        raise CheckpointError(f"The config.json of {name} names no known architecture (model_type {model_type!r}).")
    if foreign and not trust_remote_code:
        raise CheckpointError(
            f"{name} needs Python code that comes with the checkpoint, and that is not run: if you trust it, "
            "start again with --trust-remote-code."
        )
    if raw.get("quantization_config"):
        method = raw["quantization_config"].get("quant_method", "an unnamed method")
        raise CheckpointError(f"{name} is quantised ({method}), which cannot be served: use its unquantised original.")
    _check_decoder(raw, name, foreign)
    try:
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=trust_remote_code)
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise CheckpointError(f"The config.json of {name} cannot be used: {_first_line(error)}") from None


def _check_decoder(raw: dict[str, Any], name: str, foreign: bool) -> None:
    architectures = [str(a) for a in raw.get("architectures") or []]
    wrong = bool(architectures) and not any(a.endswith(_DECODER_SUFFIXES) for a in architectures)
    unmapped = not foreign and raw.get("model_type") not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if raw.get("is_encoder_decoder") or wrong or unmapped:
        what = architectures[0] if architectures else f"model_type {raw.get('model_type')!r}"
        raise CheckpointError(
            f"{name} is not a decoder-only causal language model ({what}): choose a text-generation checkpoint."
        )


def weight_specs(folder: Path) -> dict[str, TensorSpec]:
    """Every tensor of the folder's safetensors files, by name.

    Raises `CheckpointError` if there are none, if a file that the index names is missing, or if one is
    damaged.
    """
    specs: dict[str, TensorSpec] = {}
    for path in _weight_files(folder):
        if not path.is_file():
            raise CheckpointError(f"{folder.name} lacks the weight file {path.name}: fetch it again.")
        specs |= read_header(path)
    return specs


def _weight_files(folder: Path) -> list[Path]:
    if (folder / "model.safetensors").is_file():
        return [folder / "model.safetensors"]
    if (folder / INDEX).is_file():
        shards = _read_json(folder, INDEX).get("weight_map")
        if not isinstance(shards, dict) or not shards:
            raise CheckpointError(f"The {INDEX} of {folder.name} names no weights: fetch it again.")
        names = sorted({Path(str(shard)).name for shard in shards.values()})
        return [folder / shard for shard in names]
    if any(folder.glob("*.gguf")):
        raise CheckpointError(f"{folder.name} holds no safetensors weights but a .gguf file: name that file itself.")
    if any(folder.glob("pytorch_model*.bin")):
        raise CheckpointError(
            f"{folder.name} holds its weights as a pickle, which can run code when it is read: convert them "
            "to "
            "safetensors first."
        )
    raise CheckpointError(f"{folder.name} holds no weights: model.safetensors (or its index and parts) is missing.")


def require_tokenizer(folder: Path) -> None:
    """Raise `CheckpointError` if the folder has no file that a tokenizer can be built from."""
    if not any((folder / file).is_file() for file in _TOKENIZER_FILES):
        raise CheckpointError(
            f"{folder.name} has no tokenizer (tokenizer.json is missing): add the one it was made with."
        )


def _read_json(folder: Path, file: str) -> dict[str, Any]:
    try:
        value = json.loads((folder / file).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(
            f"{folder.name} is not a checkpoint folder ({file} is missing): name the folder that holds it."
        ) from None
    except (OSError, ValueError):
        raise CheckpointError(f"The {file} of {folder.name} cannot be read as JSON: fetch it again.") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"The {file} of {folder.name} is not a JSON object: fetch it again.")
    return value


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".") + "."
