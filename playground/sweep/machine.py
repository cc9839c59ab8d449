"""Where a sweep is measured: processor, software, model. No name of the machine, no path."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import transformers

from playground.names import short_reference
from playground.sweep.run import Machine, Model

if TYPE_CHECKING:
    from engine import Engine


def machine() -> Machine:
    """What cannot be found out is left empty."""
    affinity = getattr(os, "sched_getaffinity", None)
    return Machine(
        processor=_processor()[:200],
        cores=len(affinity(0)) if affinity is not None else os.cpu_count() or 0,
        threads=torch.get_num_threads(),
        system=f"{platform.system()} {platform.machine()}",
        gpu=torch.cuda.get_device_name()[:200] if torch.cuda.is_available() else "",
    )


def versions() -> dict[str, str]:
    """Of what decides the speed."""
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "transformers": str(transformers.__version__),
    }


def model_of(engine: Engine) -> Model:
    """The running model."""
    return Model(
        name=short_reference(str(engine.checkpoint.id))[:200],
        dtype=str(engine.trunk.dtype).removeprefix("torch."),
        device=str(engine.trunk.device),
        exact=engine.exact,
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
