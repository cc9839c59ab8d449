"""The trunk: a transformers causal LM run at padded widths over preallocated caches, one forward at a time.

Every forward computes `width` columns; columns past the real tokens repeat the last real token at the last real
position and are dropped by length. Which widths give the same bits is established by `engine.width`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.cache_utils import Cache

from engine import attention
from engine.cache import CacheSlot, LayerShape
from engine.errors import CheckpointError, EngineError

if TYPE_CHECKING:
    from engine.cuda.device_path import DevicePath


@dataclass(frozen=True)
class TrunkOut:
    """What one forward leaves behind.

    logits: [len(keep), V], rows in the order of `keep`. hidden: [n, H], every real column, before the final norm.
    """

    logits: Tensor
    hidden: Tensor
    report: Tensor | None = None
    """From the device path only, and not read by the host yet: see `engine.cuda.static_forward.Computed`."""
    graphed: bool = False
    """Whether a captured graph was replayed."""


class Trunk:
    """Runs the model over cache slots. Thread-safe: one forward at a time."""

    def __init__(self, model: PreTrainedModel, *, head_widths: tuple[int, ...] = (1,)) -> None:
        self.model = model
        self.decoder: nn.Module = model.get_decoder()
        self.device: torch.device = next(model.parameters()).device
        self.dtype: torch.dtype = next(model.parameters()).dtype
        self.vocab_rows: int = int(model.get_input_embeddings().weight.shape[0])
        self.head_widths = head_widths
        """Ascending: how many columns the output head may be given, like every product at widths that were probed."""
        self.forwards = 0
        self.threads: int | None = None
        """CPU threads of every forward, once chosen: the widths are probed at this count, and torch's own setting
        belongs to whichever thread or engine set it last."""
        self.path: DevicePath | None = None
        """Where it is set, every forward goes through it: `engine.cuda.device_path`."""
        self.lock = threading.Lock()
        self._pre_norm: Tensor | None = None
        self._final_norm = _find_final_norm(self)
        self._final_norm.register_forward_pre_hook(self._keep_hidden)
        self.shapes = _layer_shapes(self)

    def new_slot(self, capacity: int) -> CacheSlot:
        """A zeroed slot of at least `capacity` rows."""
        return CacheSlot(self.shapes, capacity)

    def forward(
        self, slot: CacheSlot, start: int, tokens: Sequence[int], width: int, keep: Sequence[int] = ()
    ) -> TrunkOut:
        """Write rows `start..start+width` (the first `len(tokens)` are real) and return what `keep` asks for.

        Args:
            slot: where the rows go; its `length` is not changed.
            start: position of the first token, at most `slot.length`.
            tokens: n real token ids, 1 <= n <= width.
            width: columns computed.
            keep: real columns whose logits are wanted, at most `head_widths[-1]`; empty skips the output head.

        Raises:
            EngineError: a row or a kept row's logits are not finite; stale rows are scrubbed, nothing else changed.
        """
        n = len(tokens)
        assert 1 <= n <= width and len(keep) <= self.head_widths[-1] and all(0 <= c < n for c in keep)
        if self.path is not None:
            return self.path.checked(slot, start, tokens, width, keep)
        pad = width - n
        ids = torch.tensor([[*tokens, *[tokens[-1]] * pad]], device=self.device)
        positions = torch.arange(start, start + width, device=self.device).clamp_(max=start + n - 1).unsqueeze(0)
        with self.lock, torch.inference_mode():
            if self.threads is not None and torch.get_num_threads() != self.threads:
                torch.set_num_threads(self.threads)
            slot.write_at(start, width)
            self.forwards += 1
            columns = torch.tensor(self.head_columns(keep), device=self.device) if keep else None
            logits, hidden = self.run(ids, positions, slot, columns)
            logits = logits[: len(keep)]
            # the hidden of every column, padding included: their rows are in the cache too
            finite = torch.isfinite(hidden.abs().amax())
            if keep:
                finite = finite & torch.isfinite(logits.amax())
            if not bool(finite):
                slot.scrub()
                raise self.not_finite(start)
        return TrunkOut(logits, hidden[:n])

    def head_columns(self, keep: Sequence[int]) -> list[int]:
        """`keep`, which is not empty, padded to the narrowest width that the output head may be given."""
        head = next(w for w in self.head_widths if w >= len(keep))
        return [*keep, *[keep[-1]] * (head - len(keep))]

    def run(
        self, ids: Tensor, positions: Tensor, cache: Cache, columns: Tensor | None, **extra: Any
    ) -> tuple[Tensor, Tensor]:
        """One call of the model; the caller holds the lock.

        Args:
            ids, positions: [1, W]. columns: those that the output head is given, or None to leave it out.
            extra: keywords that the model hands through to attention.

        Returns:
            Logits [len(columns), V] (none of them without columns) and the hidden [W, H] before the final norm.
        """
        if columns is None:
            self.decoder(input_ids=ids, position_ids=positions, cache=cache, use_cache=True, **extra)
            logits = torch.empty(0, self.vocab_rows, device=self.device)
        else:
            logits = self.model(
                input_ids=ids, position_ids=positions, cache=cache, use_cache=True, logits_to_keep=columns, **extra
            ).logits[0]
        hidden, self._pre_norm = self._pre_norm, None
        assert hidden is not None
        return logits, hidden[0]

    def not_finite(self, start: int) -> EngineError:
        """The error to raise for a forward at `start` whose rows or logits are not finite."""
        remedy = "its weights may be damaged" if self.dtype == torch.float32 else "try --dtype float32"
        return EngineError(
            f"The model produced a value that is not a number at position {start}; nothing was committed, and {remedy}."
        )

    def _keep_hidden(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        self._pre_norm = args[0]


@contextmanager
def implementation(model: PreTrainedModel, name: str) -> Iterator[None]:
    """Run the model with another attention implementation inside the block."""
    before = model.config._attn_implementation
    model.set_attn_implementation(name)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def _find_final_norm(trunk: Trunk) -> nn.Module:
    """The decoder's own child whose output is its last hidden state; its input is the hidden before the norm."""
    outputs: list[tuple[Tensor, nn.Module]] = []

    def note(module: nn.Module, args: tuple[Any, ...], out: Any) -> None:
        if isinstance(out, Tensor):
            outputs.append((out, module))

    hooks = [child.register_forward_hook(note) for child in trunk.decoder.children()]
    try:
        with torch.inference_mode(), implementation(trunk.model, "eager"):
            ids = torch.zeros(1, 4, dtype=torch.long, device=trunk.device)
            last = trunk.decoder(input_ids=ids, use_cache=False).last_hidden_state
    finally:
        for hook in hooks:
            hook.remove()
    norm = next((module for out, module in outputs if out.data_ptr() == last.data_ptr()), None)
    if norm is None:
        raise CheckpointError(
            f"{type(trunk.model).__name__} does not end in a norm this engine can read the hidden state before; "
            "choose another checkpoint."
        )
    return norm


def _layer_shapes(trunk: Trunk) -> list[LayerShape]:
    """Key/value geometry of every layer, read from one small forward rather than from config names."""
    from transformers import DynamicCache

    cache = DynamicCache()
    with torch.inference_mode(), implementation(trunk.model, "eager"):
        trunk.decoder(input_ids=torch.zeros(1, 4, dtype=torch.long, device=trunk.device), cache=cache, use_cache=True)
    shapes = []
    for layer in cache.layers:
        keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
        if keys is None or values is None or keys.dim() != 4:
            raise CheckpointError(
                f"{type(trunk.model).__name__} keeps recurrent or compressed state besides keys and values, which this "
                "engine cannot rewind exactly; choose a model with full attention."
            )
        shapes.append(LayerShape(keys.shape[1], keys.shape[3], values.shape[3], keys.dtype, keys.device))
    return shapes


attention.register()
