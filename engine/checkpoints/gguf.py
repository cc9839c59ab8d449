"""A `.gguf` file turned, once, into an ordinary checkpoint folder in the user's cache.

This is the one adapter between transformers' GGUF support and the rest: everything after it reads
safetensors. Reading the file directly takes half a minute at every start (its vocabulary is parsed several
times over, its blocks are unpacked in Python); the folder loads in about a second. It is keyed by the file's
content and by `FORMAT`, so the same bytes give the same folder and the same weights on every start.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import MODEL_ARCH_NAMES, GGMLQuantizationType, dequantize, get_tensor_name_map
from transformers import AutoModelForCausalLM
from transformers.integrations.gguf import GgufHeader, read_gguf_metadata
from transformers.modeling_gguf_pytorch_utils import TENSOR_PROCESSORS, TensorProcessor

from engine.checkpoints.cache_folder import cache_root, partial_folder, publish, require_disk
from engine.checkpoints.gguf_config import build_config, require_supported
from engine.checkpoints.gguf_tokenizer import TOKEN_ARRAYS, build_tokenizer
from engine.checkpoints.progress import Progress
from engine.checkpoints.safetensors_file import write_stream
from engine.checkpoints.validate import read_config, require_tokenizer, weight_specs
from engine.errors import CheckpointError

FORMAT = 1
"""Raise this when a conversion would come out differently; old folders are then left unused."""

_MAGIC = b"GGUF"
_DAMAGE = (ValueError, KeyError, IndexError, OverflowError, MemoryError, struct.error)
_LARGE = 2 * 10**9  # parameters; above this unpacked blocks are kept as bfloat16, half the disk and memory
_FLOAT_TYPES = {0: torch.float32, 1: torch.float16, 30: torch.bfloat16}  # ggml's ids of plain values


def converted_folder(path: Path, progress: Progress) -> Path:
    """The checkpoint folder made from the file `path`: from the cache if it is there, else converted now.

    Raises `CheckpointError` if the file is damaged or cannot be converted faithfully. If `progress` raises,
    nothing is left behind.
    """
    header = read_header(path)
    require_supported(header.architecture, path.name)
    key = f"{_digest(path, progress)[:24]}-v{FORMAT}"
    final = cache_root() / "converted" / key
    if final.is_dir() and not usable(final):
        shutil.rmtree(final, ignore_errors=True)
    if not final.is_dir():
        with partial_folder() as partial:
            _convert(path, header, partial, progress)
            publish(partial, final)
    return final


def read_header(path: Path) -> Any:
    """The file's `GgufHeader`. Raises `CheckpointError` if it is not GGUF, cut short or unknown."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != _MAGIC:
        raise CheckpointError(f"{path.name} is not a GGUF file or is damaged: fetch it again.")
    try:
        header = GgufHeader.from_file(str(path))
    except _DAMAGE as error:
        if "not supported" in str(error) or "this reader" in str(error):
            raise CheckpointError(f"{path.name} is stored in a form of GGUF that cannot be read: {error}") from None
        raise CheckpointError(f"{path.name} is cut short or damaged: fetch it again.") from None
    end = header.data_start + max((t.offset + t.nbytes for t in header.tensors), default=0)
    size = path.stat().st_size
    if size < end or not header.tensors:
        raise CheckpointError(
            f"{path.name} is cut short ({size:,} bytes where its header says at least {end:,}): fetch it again."
        )
    return header


def usable(folder: Path) -> bool:
    """Whether a cached folder is whole; one that is not gets converted again."""
    try:
        read_config(folder)
        weight_specs(folder)
        require_tokenizer(folder)
    except CheckpointError:
        return False
    return True


def _digest(path: Path, progress: Progress) -> str:
    """SHA-256 of the file's content, in hex."""
    digest, done, size = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as file:
        while block := file.read(16 * 2**20):
            digest.update(block)
            done += len(block)
            progress(f"Reading {path.name}", done / size)
    return digest.hexdigest()


def _convert(path: Path, header: Any, folder: Path, progress: Progress) -> None:
    progress(f"Converting {path.name}: tokenizer", None)
    try:
        metadata, _ = read_gguf_metadata(str(path), TOKEN_ARRAYS)
        tokenizer = build_tokenizer(path, metadata)
    except _DAMAGE as error:
        raise CheckpointError(f"The tokenizer in {path.name} cannot be used: {error}") from None
    progress(f"Converting {path.name}: configuration", None)
    config = build_config(path, header, metadata)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    names = _file_names(model, header, path.name)
    dtype = _stored_dtype(header, model)
    shapes = {name: tuple(parameter.shape) for name, parameter in model.state_dict().items() if name in names}
    require_disk(sum(np.prod(s, dtype=np.int64).item() for s in shapes.values()) * dtype.itemsize, path.name)
    tensors = _tensors(path, header, names, shapes, config.to_dict(), progress)
    write_stream(folder / "model.safetensors", shapes, dtype, tensors)
    config.dtype = dtype
    config.architectures = [type(model).__name__]
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "generation_config.json").write_text(json.dumps(_end_ids(metadata), indent=2), encoding="utf-8")
    (folder / "source.json").write_text(json.dumps({"file": path.name, "format": FORMAT}), encoding="utf-8")


def _file_names(model: Any, header: Any, file: str) -> dict[str, str]:
    """The file's name of every parameter of `model`; both sides must be used up, or the model would be
    another.
    """
    arch = next(key for key, name in MODEL_ARCH_NAMES.items() if name == header.architecture)
    table = get_tensor_name_map(arch, model.config.num_hidden_layers)
    stored = {tensor.name for tensor in header.tensors}
    names: dict[str, str] = {}
    for name in model.state_dict():
        stem, _, suffix = name.rpartition(".")
        names[name] = f"{table.get_name(stem)}.{suffix}"
    if model.config.tie_word_embeddings:
        names.pop("lm_head.weight", None)
    missing = [name for name, gguf_name in names.items() if gguf_name not in stored]
    unused = sorted(stored - set(names.values()) - {"rope_freqs.weight"})  # that one became part of the config
    if missing or unused:
        what = f"lacks {missing[0]}" if missing else f"holds {unused[0]}, which the model has no place for"
        raise CheckpointError(f"{file} cannot be converted faithfully: it {what}.")
    return names


def _stored_dtype(header: Any, model: Any) -> torch.dtype:
    """Plain values keep their type; unpacked blocks are exact in float32, which only large models cannot
    afford.
    """
    types = set(header.ggml_types.values())
    if types <= set(_FLOAT_TYPES):
        return next((_FLOAT_TYPES[t] for t in (30, 1) if t in types), torch.float32)
    return torch.bfloat16 if model.num_parameters() > _LARGE else torch.float32


def _tensors(
    path: Path,
    header: Any,
    names: dict[str, str],
    shapes: dict[str, tuple[int, ...]],
    config: dict[str, Any],
    progress: Progress,
) -> Iterator[tuple[str, torch.Tensor]]:
    """The weights in the order of `shapes`, unpacked one at a time."""
    processor = TENSOR_PROCESSORS.get(header.architecture, TensorProcessor)(config=config)
    infos = {tensor.name: tensor for tensor in header.tensors}
    blob = np.memmap(path, mode="r", dtype=np.uint8)
    for index, (name, shape) in enumerate(shapes.items()):
        progress(f"Converting {path.name}: weights", index / len(shapes))
        info = infos[names[name]]
        start = header.data_start + info.offset
        rows = blob[start : start + info.nbytes].reshape(*info.shape[:-1], -1)
        values = dequantize(np.asarray(rows), GGMLQuantizationType(info.ggml_type))
        values = processor.process(weights=values, name=info.name).weights
        if tuple(values.shape) != shape:
            raise CheckpointError(f"{path.name} holds {info.name} with shape {tuple(values.shape)}, not {shape}.")
        yield name, torch.from_numpy(np.require(values, requirements=["C", "W"]))


def _end_ids(metadata: dict[str, Any]) -> dict[str, Any]:
    """The generation settings a GGUF knows: its special ids, all that end a turn among them."""
    get = metadata.get
    known = (get(f"tokenizer.ggml.{kind}_token_id") for kind in ("eos", "eot", "eom"))
    ends = {end for end in known if end is not None}
    settings = {"bos_token_id": get("tokenizer.ggml.bos_token_id"), "eos_token_id": sorted(ends)}
    return {key: value for key, value in settings.items() if value not in (None, [])}
