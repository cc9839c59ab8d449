"""Whether a model can take the device path: found out at load, by running it both ways.

The pool's attention knows windows, soft-caps and sinks, and nothing else of a mask. So every layer's mask must be that
of its window, the fused layers must mean what the layers themselves pass to attention, and the results must agree with
those of the model as transformers made it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from engine import attention
from engine.cuda.device_path import DevicePath
from engine.cuda.fused_attention import FusedAttention, fuse_attention, unfuse_attention
from engine.cuda.graphs import Capture
from engine.fused_modules import fuse, unfuse
from engine.trunk import Trunk, TrunkOut
from engine.verify_attention import PROMPT, TOLERANCE, WINDOW, narrow_windows, probe_tokens, relative


def open_path(trunk: Trunk, capture: Capture | None = None) -> tuple[DevicePath | None, str]:
    """Let every forward of `trunk` take the device path from now on, if its model fits; else None, and why not."""
    path = DevicePath(trunk, capture)
    try:
        why = _why_not(trunk, path)
    except Exception as error:  # noqa: BLE001 - what a model or a kernel trips over is of any type
        why = str(error).partition("\n")[0] or type(error).__name__
    if why:
        unfuse_attention(trunk.model)
        unfuse(trunk.model)
        warnings.warn(f"Forwards take the slower way, without graphs: {why}.", RuntimeWarning, stacklevel=2)
        return None, why
    trunk.path = path
    return path, ""


def _why_not(trunk: Trunk, path: DevicePath) -> str:
    """Fuse what can be fused, and compare; empty where the model fits."""
    name = type(trunk.model).__name__
    if len({str(shape.device) for shape in trunk.shapes}) > 1:
        return f"the layers of {name} are spread over several devices"
    with narrow_windows(trunk), _noted() as narrow:
        _probe(trunk)
    if not all(_is_window(call) for call in narrow):
        return f"{name} masks its attention otherwise than fully or in sliding windows"
    with _noted() as calls:
        expected = _probe(trunk)
    layers = fuse_attention(trunk.model)
    if trunk.device.type == "cuda":
        fuse(trunk.model)
        for layer in layers:
            layer.join()
    for layer in layers:
        if not any(call.module is layer.inner and call.means(layer) for call in calls):
            return f"{name} passes something to attention that its fused layers do not know"
    actual = path.forward(trunk.new_slot(PROMPT), 0, probe_tokens(trunk), PROMPT, keep=[PROMPT - 1])
    pairs = ((actual.logits, expected.logits), (actual.hidden, expected.hidden))
    off = max(relative(one, other) for one, other in pairs)
    if not off <= TOLERANCE[trunk.dtype]:
        return f"{name} gives other results on it (relative difference {off:.1e})"
    return ""


@dataclass(frozen=True)
class _Call:
    """What one layer passed to attention."""

    module: nn.Module
    mask: Tensor
    options: dict[str, Any]

    def means(self, layer: FusedAttention) -> bool:
        """Whether the fused layer would compute the same."""
        given = self.options
        return (
            given.get("sliding_window") == layer.window
            and given.get("softcap") == layer.softcap
            and given.get("scaling") == layer.scaling
            and given.get("s_aux") is None
        )


@contextmanager
def _noted() -> Iterator[list[_Call]]:
    """Inside the block every call of our attention is noted."""
    calls: list[_Call] = []

    def note(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, **kwargs: Any) -> Any:
        calls.append(_Call(module, mask, kwargs))
        return attention.blockwise_attention(module, query, key, value, mask, **kwargs)

    attention.register(note)
    try:
        yield calls
    finally:
        attention.register()


def _probe(trunk: Trunk) -> TrunkOut:
    return trunk.forward(trunk.new_slot(PROMPT), 0, probe_tokens(trunk), PROMPT, keep=[PROMPT - 1])


def _is_window(call: _Call) -> bool:
    """Whether a mask [1, 1, W, L] of rows from position 0 is that of the layer's window, narrowed to WINDOW."""
    window = call.options.get("sliding_window")
    rows, keys = call.mask.shape[-2:]
    row, key = torch.arange(rows)[:, None], torch.arange(keys)[None]
    visible = key <= row
    if window is not None:
        visible &= key > row - min(window, WINDOW)
    return bool(torch.equal(call.mask[0, 0].cpu() == 0, visible))
