"""The model's kernels go through the compiler, on a machine without the device too: one code for every width."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = {"attend", "combine", "_rotary", "_rmsnorm", "_swiglu"}


@pytest.mark.skipif(platform.system() != "Linux", reason="Triton's compiler has no package for this platform")
def test_every_kernel_compiles_for_cuda_into_one_code_for_every_width(tmp_path):
    """What a row computes cannot depend on the width of its forward if the same code runs at every width."""
    pytest.importorskip("triton", reason="Triton has no package for this platform")
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-m", "tests.kernels.compile_model", "80", "90"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    made = [json.loads(line) for line in run.stdout.splitlines()]
    for architecture in (80, 90):
        here = [one for one in made if one["sm"] == architecture]
        assert {one["kernel"] for one in here} == KERNELS
        assert all(one["mma"] for one in here if one["kernel"] == "attend"), "products off the tensor cores"
        assert max(one["shared"] for one in here) <= 48 * 1024  # what every CUDA device gives without asking
        for kernel in KERNELS:
            codes = {one["width"]: set() for one in here}
            for one in here:
                if one["kernel"] == kernel and one["case"] == "llama":
                    codes[one["width"]].add(one["code"])
            assert len(set.union(*codes.values())) == (2 if kernel == "_rmsnorm" else 1), (kernel, codes)
