"""safetensors headers: sizes without reading weights, damage named, and the writer against the library."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.checkpoints.safetensors_file import TensorSpec, read_header, write_stream
from engine.errors import CheckpointError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    save_file({"a": torch.ones(3, 5), "b": torch.ones(7, dtype=torch.bfloat16)}, path)
    return path


def test_header_of_the_librarys_own_file(file: Path) -> None:
    assert read_header(file) == {"a": TensorSpec("F32", (3, 5)), "b": TensorSpec("BF16", (7,))}


@pytest.mark.parametrize("keep", [0, 7, 40, -1])
def test_cut_short(file: Path, keep: int) -> None:
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(CheckpointError, match="fetch it again"):
        read_header(file)


def test_too_long(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\0")
    with pytest.raises(CheckpointError, match="too long"):
        read_header(file)


@pytest.mark.parametrize(
    "header",
    [
        b"not json",
        b"[1, 2]",
        b'{"a": 1}',
        b'{"a": {"dtype": "F32"}}',
        b'{"a": {"dtype": "F32", "shape": 3, "data_offsets": [0, 4]}}',
    ],
)
def test_damaged_header(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(CheckpointError, match="damaged"):
        read_header(path)


def test_a_huge_header_length_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", 2**60))
    with pytest.raises(CheckpointError, match="damaged"):
        read_header(path)


def test_bytes_as() -> None:
    assert TensorSpec("BF16", (4, 4)).bytes_as(torch.float32) == 64
    assert TensorSpec("F32", (4, 4)).bytes_as(torch.bfloat16) == 32
    assert TensorSpec("I64", (4,)).bytes_as(torch.bfloat16) == 32


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_written_in_a_stream_and_read_by_the_library(tmp_path: Path, dtype: torch.dtype) -> None:
    tensors = {"x": torch.randn(3, 4), "y": torch.randn(5), "z": torch.randn(2, 2, 2)}
    path = tmp_path / "out.safetensors"
    write_stream(path, {k: tuple(v.shape) for k, v in tensors.items()}, dtype, iter(tensors.items()))
    back = load_file(path)
    assert set(back) == set(tensors)
    for name, tensor in tensors.items():
        assert torch.equal(back[name], tensor.to(dtype))
    assert (8 + struct.unpack("<Q", path.read_bytes()[:8])[0]) % 64 == 0
    assert read_header(path)["x"].shape == (3, 4)
