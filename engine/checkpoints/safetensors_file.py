"""safetensors files by their header: sizes before any weight is read, damage found, files written in a
stream.

The format (huggingface/safetensors, README "Format"): 8 bytes little-endian length n of the header, n bytes
of JSON that map a tensor's name to its dtype, shape and byte range, then the data without gaps.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import torch

from engine.errors import CheckpointError

_LIMIT = 100 * 2**20  # the reference implementation refuses larger headers too
ALIGNMENT = 64
"""Bytes of a cache line. Data sections written here start at a multiple, so that mapped weights serve in
place.
"""
_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


@dataclass(frozen=True)
class TensorSpec:
    """One tensor of a file: its dtype as the file spells it, and its shape."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def numel(self) -> int:
        return prod(self.shape)

    def bytes_as(self, dtype: torch.dtype) -> int:
        """Bytes once loaded: floating tensors take `dtype`, all others keep their own."""
        own = _DTYPES.get(self.dtype)
        if own is None:
            return self.numel
        return self.numel * (dtype if own.is_floating_point else own).itemsize


def read_header(path: Path) -> dict[str, TensorSpec]:
    """The tensors that `path` holds, from its header alone. Raises `CheckpointError` if it is cut short or
    damaged.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= _LIMIT:
            raise CheckpointError(f"{path.name} is not a safetensors file or is damaged: fetch it again.")
        raw = file.read(length)
    if len(raw) < length:
        raise CheckpointError(f"{path.name} is cut short (its header is not complete): fetch it again.")
    try:
        entries = json.loads(raw)
        entries.pop("__metadata__", None)
        specs = {name: TensorSpec(e["dtype"], tuple(map(int, e["shape"]))) for name, e in entries.items()}
        end = max((int(e["data_offsets"][1]) for e in entries.values()), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise CheckpointError(f"{path.name} has a damaged safetensors header: fetch it again.") from None
    expected = 8 + length + end
    if size != expected:
        raise CheckpointError(
            f"{path.name} is {'cut short' if size < expected else 'too long'} ({size:,} bytes where its "
            "header "
            f"says {expected:,}): fetch it again."
        )
    return specs


def write_stream(
    path: Path,
    specs: Mapping[str, tuple[int, ...]],
    dtype: torch.dtype,
    tensors: Iterable[tuple[str, torch.Tensor]],
) -> None:
    """Write tensors of the given shapes as `dtype`, taking them one by one, in the order of `specs`.

    Only one tensor is in memory at a time. The data section starts at a multiple of 64 bytes.
    """
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in specs.items():
        begin, end = end, end + prod(shape) * dtype.itemsize
        entries[name] = {"dtype": _NAMES[dtype], "shape": list(shape), "data_offsets": [begin, end]}
    raw = json.dumps(entries, separators=(",", ":")).encode()
    raw += b" " * (-(8 + len(raw)) % ALIGNMENT)
    expected = iter(specs.items())
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(raw)) + raw)
        for name, tensor in tensors:
            assert (name, tuple(tensor.shape)) == next(expected)
            file.write(tensor.to(dtype).contiguous().reshape(-1).view(torch.uint8).numpy().data)
