"""Free memory: control groups, sizes, and the refusal."""

from __future__ import annotations

from pathlib import Path

import torch

from engine.checkpoints import memory
from engine.checkpoints.safetensors_file import TensorSpec

CPU = torch.device("cpu")


def test_this_machine_has_some() -> None:
    assert 2**20 < memory.free_memory(CPU) < 2**50


def test_version_2_control_group(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 100\ninactive_file 50\n")
    assert memory._cgroup_room(tmp_path) == [350]


def test_version_1_control_group(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("1000")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("2000")
    (tmp_path / "memory" / "memory.stat").write_text("total_inactive_file 5")
    assert memory._cgroup_room(tmp_path) == [0]


def test_no_limit(tmp_path: Path) -> None:
    assert memory._cgroup_room(tmp_path) == []
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("inactive_file 50\n")
    assert memory._cgroup_room(tmp_path) == []


def test_fits_asks_for_a_tenth_more() -> None:
    size = memory.weight_bytes([TensorSpec("F32", (100,)), TensorSpec("F32", (150,))], torch.float32)
    assert size == 1000
    assert memory.fits(size, CPU, lambda device: 1101)
    assert not memory.fits(size, CPU, lambda device: 1099)


def test_refusal_is_one_sentence_with_both_numbers() -> None:
    text = str(memory.too_large("big", 20 * 10**9, CPU, lambda device: 3 * 10**9))
    assert "22 GB" in text
    assert "3 GB" in text
    assert "\n" not in text
