"""Peak memory is measured in a process of its own."""

from __future__ import annotations

import pytest

from benchmarks.arm_names import parse_arm
from benchmarks.arms import ArmSettings
from benchmarks.peak_memory import peak_memory, resident_peak


def test_an_arm_is_measured_in_a_process_of_its_own(tiny_checkpoint):
    settings = ArmSettings(str(tiny_checkpoint("llama")), "", "cpu", "float32", 64, 1)
    ballast = bytearray(3 * 2**28)  # a peak of this process that the arm's must not inherit
    assert 2**26 < peak_memory(parse_arm("ngram-3"), settings, [[5, 6, 7], [8]]) < len(ballast)
    assert resident_peak() > len(ballast)


def test_an_arm_that_fails_there_says_why(tmp_path):
    settings = ArmSettings(str(tmp_path), "", "cpu", "float32", 64, 1)
    with pytest.raises(RuntimeError, match=r"Arm plain failed in a process of its own: .*CheckpointError"):
        peak_memory(parse_arm("plain"), settings, [[5]])
