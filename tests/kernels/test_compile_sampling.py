"""The sampling kernels go through the compiler to machine code, on a machine without the device too."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(platform.system() != "Linux", reason="Triton's compiler has no package for this platform")
def test_every_kernel_compiles_for_cuda(tmp_path):
    pytest.importorskip("triton", reason="Triton has no package for this platform")
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-m", "tests.kernels.compile_sampling", "80", "90"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.count("sm_80") == run.stdout.count("sm_90") == 10
