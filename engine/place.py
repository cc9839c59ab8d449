"""Where an engine computes and in which precision, from what a user may write."""

from __future__ import annotations

from typing import Literal

import torch

from engine.errors import EngineError

_DTYPES = (("float32", torch.float32), ("bfloat16", torch.bfloat16), ("float16", torch.float16))


def device_of(name: str) -> torch.device:
    """`auto` is CUDA where there is one. Raises EngineError for a device that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise EngineError(f"There is no device {name!r}; use auto, cpu, cuda or cuda:N.") from None
    if device.type not in ("cpu", "cuda") or (device.type == "cuda" and not torch.cuda.is_available()):
        raise EngineError(f"Device {name!r} is not available on this machine; use --device cpu or auto.")
    return device


def dtype_of(name: str, device: torch.device) -> torch.dtype | Literal["auto"]:
    """`auto` is fp32 on the CPU and the checkpoint's own dtype on a GPU. Raises EngineError for another name."""
    if name == "auto":
        return torch.float32 if device.type == "cpu" else "auto"
    known = dict(_DTYPES)
    if name not in known:
        raise EngineError(f"There is no dtype {name!r}; use auto, {', '.join(known)}.")
    return known[name]
