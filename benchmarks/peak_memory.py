"""Peak memory of one arm, in a process of its own: `python -m benchmarks.peak_memory ARM SETTINGS CONVERSATION`.

The benchmark's own process holds every arm at once, so its peak says nothing about any of them.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.arm_names import ArmName
    from benchmarks.arms import ArmSettings

NEW = 4
"""Tokens a turn: the peak is in loading and in the longest prompt."""


def peak_memory(name: ArmName, settings: ArmSettings, suffixes: Sequence[Sequence[int]]) -> int:
    """Bytes resident at most while `name` loads and decodes the conversation. Raises RuntimeError if that fails."""
    command = [sys.executable, "-m", "benchmarks.peak_memory", str(name), json.dumps(asdict(settings))]
    command += [json.dumps([list(suffix) for suffix in suffixes])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent.parent)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"Arm {name} failed in a process of its own: {reason}")
    return int(done.stdout.split()[-1])


def resident_peak() -> int:
    """This process's peak resident bytes.

    `ru_maxrss` survives exec, so a small child of a large parent would report the parent's peak; `VmHWM` does not.
    """
    try:
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(argv: Sequence[str]) -> None:
    """Decode once and print the peak in bytes."""
    import torch

    from benchmarks.arm_names import parse_arm
    from benchmarks.arms import ArmSettings, build_arms

    name, text, suffixes = argv
    settings = ArmSettings(**json.loads(text))
    torch.set_num_threads(settings.threads)
    (arm,) = build_arms([parse_arm(name)], settings).arms
    arm.run(json.loads(suffixes), NEW)
    print(resident_peak())


if __name__ == "__main__":
    main(sys.argv[1:])
