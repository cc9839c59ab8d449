"""`Engine`: one loaded checkpoint, its trunk, widths and slots; makes sessions."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from typing import Any, TypeVar

import torch
import transformers

from engine.checkpoints import Checkpoint
from engine.cuda.device_path import DevicePath
from engine.cuda.fit import open_path
from engine.drafters import MODEL, Drafter, make_drafter
from engine.drafters.draft_len import require_draft_len
from engine.drafters.load_model import load_draft_model
from engine.drafters.model import DraftModel, ModelDrafter
from engine.errors import CheckpointError, EngineError
from engine.packed_linear import pack_linears
from engine.session import SpecSession
from engine.slots import SlotPool
from engine.thread_choice import choose_threads
from engine.trace import Trace, TraceHeader
from engine.trunk import Trunk
from engine.verify_attention import require_servable
from engine.width import plan_widths

T = TypeVar("T")
Progress = Callable[[str, float | None], None]

DEFAULT_MAX_CTX = 4096
MAX_DRAFT_LEN = 7
PREFILL_CHUNK = 128
"""Tokens per prefill forward: a Stop acts within a fifth of a second on two cores. Longer chunks are more efficient:
720 tokens of the default checkpoint take 1.1 s in chunks of 128, 1.4 s in chunks of 64."""
CUDA_CHUNK = 512
"""The same on a GPU, where a forward of 128 columns takes hardly less time than one of 512."""


class Engine:
    """A loaded checkpoint, ready to make sessions. Made by `engine.loading.load_engine`."""

    device_path: DevicePath | None = None
    """The way of every forward on CUDA, graphs included; None where forwards take torch's own way."""
    graph_state = "Forwards run without graphs, as they do on the CPU."
    """One sentence: whether rounds replay captured graphs, and why not."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        drafter: str | Drafter = "ngram",
        draft_len: int = MAX_DRAFT_LEN,
        max_draft_len: int = MAX_DRAFT_LEN,
        max_ctx: int = DEFAULT_MAX_CTX,
        slots: int = 4,
        pack: bool = True,
        threads: int | None = None,
        device_path: bool | None = None,
        debug: bool | None = None,
        progress: Progress | None = None,
    ) -> None:
        say = progress or (lambda sentence, fraction: None)
        self.checkpoint = checkpoint
        self.closed = False
        self.max_ctx = max_ctx
        self.max_draft_len = max_draft_len
        self.prefill_chunk = PREFILL_CHUNK
        self.debug = bool(os.environ.get("DRAFTSCOPE_DEBUG")) if debug is None else debug
        self._default = (drafter, require_draft_len(draft_len, max_draft_len))
        self._draft_models: dict[str, DraftModel] = {}
        say("Checking that the model can be served exactly", 0.7)
        if pack:
            say("Packing the weights for this processor", 0.65)
            pack_linears(checkpoint.model)
        self.trunk = _prepare(checkpoint, lambda: Trunk(checkpoint.model))
        _prepare(checkpoint, lambda: require_servable(self.trunk, max_ctx))
        self.threads = _prepare(checkpoint, lambda: choose_threads(self.trunk, max_draft_len + 1, threads))
        self.trunk.threads = self.threads
        self._slot_count = slots
        self._wants_path = self.trunk.device.type == "cuda" if device_path is None else device_path
        if self._wants_path:
            self.device_path, why = open_path(self.trunk)
            self.graph_state = f"Forwards run without graphs: {why}."
        say("Measuring forward widths on this device", 0.8)
        self.widths = _prepare(checkpoint, lambda: plan_widths(self.trunk, max_draft_len))
        capacity, path = max_ctx + self.widths.width, self.device_path
        if path is not None:
            say("Capturing the graphs of a round", 0.9)
            path.prepare(slots, capacity, self.widths.rounds)
            self.graph_state = path.state
        if self.trunk.device.type == "cuda":
            self.prefill_chunk = CUDA_CHUNK
        self.slots = SlotPool(self.trunk, slots, capacity, None if path is None else path.lease)
        if isinstance(drafter, str):
            self.make_drafter(drafter, progress)
        say("Ready", 1.0)

    @property
    def width(self) -> int:
        """W, the most columns of a round."""
        return self.widths.width

    @property
    def verdict(self) -> str:
        """One sentence: whether greedy text is bit-identical to plain decoding on this device, and why."""
        return self.widths.verdict

    @property
    def exact(self) -> bool:
        """Whether the probes found that no row's bits depend on what shares its forward."""
        return self.widths.exact

    @property
    def tokenizer(self) -> Any:
        """The checkpoint's tokenizer."""
        return self.checkpoint.tokenizer

    @property
    def stop_ids(self) -> frozenset[int]:
        """Every end-of-turn id of the checkpoint."""
        return self.checkpoint.stop_ids

    def new_session(self, drafter: str | Drafter | None = None, draft_len: int | None = None) -> SpecSession:
        """A fresh session; the drafter and draft length default to the engine's. Raises DrafterMismatch."""
        name, length = self._default
        return SpecSession(
            self,
            name if drafter is None else drafter,
            require_draft_len(length if draft_len is None else draft_len, self.max_draft_len),
        )

    def make_drafter(self, drafter: str | Drafter, progress: Progress | None = None) -> Drafter:
        """A drafter from its name, or the given object. A draft model is loaded once and shared.

        Raises DrafterMismatch for an unknown name or another tokenizer, CheckpointError for a bad reference.
        """
        if not isinstance(drafter, str) or not drafter.startswith(MODEL):
            return make_drafter(drafter)
        if drafter not in self._draft_models:
            self._draft_models[drafter] = load_draft_model(
                drafter,
                self.checkpoint,
                device=self.trunk.device,
                dtype=self.trunk.dtype,
                max_ctx=self.max_ctx,
                path_slots=self._slot_count if self._wants_path else 0,
                progress=progress,
            )
        return ModelDrafter(self._draft_models[drafter])

    def close(self) -> None:
        """Let go of the weights and of every slot; sessions of this engine cannot run any more."""
        self.closed = True
        self.slots.close()
        for path in (self.device_path, *(model.trunk.path for model in self._draft_models.values())):
            if path is not None:
                path.close()
        del self.trunk, self.checkpoint

    def memory(self) -> dict[str, int]:
        """Bytes: `weights`, `draft_weights`, `slots` (reserved; on the CPU only touched pages are resident)."""
        return {
            "weights": self.checkpoint.bytes,
            "draft_weights": sum(model.nbytes for model in self._draft_models.values()),
            "slots": self.slots.nbytes if self.device_path is None else self.device_path.nbytes,
        }

    def new_trace(self) -> Trace:
        """An empty trace whose header names this engine's checkpoint, settings and software."""
        return Trace(
            TraceHeader(
                checkpoint=self.checkpoint.id,
                settings={
                    "dtype": str(self.trunk.dtype).removeprefix("torch."),
                    "device": str(self.trunk.device),
                    "max_ctx": self.max_ctx,
                    "width": self.width,
                    "max_draft_len": self.max_draft_len,
                    "exact": self.exact,
                    "threads": self.threads,
                },
                versions={
                    "python": platform.python_version(),
                    "torch": torch.__version__,
                    "transformers": transformers.__version__,
                },
            )
        )


def _prepare(checkpoint: Checkpoint, step: Callable[[], T]) -> T:
    """Run a preparation step; what a model class trips over becomes one sentence."""
    try:
        return step()
    except (EngineError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # what a class trips over is of any type; the log of the chained error has the details
        raise CheckpointError(
            f"{checkpoint.id} is a {type(checkpoint.model).__name__}, which this engine cannot serve; "
            "choose a decoder-only model with full or sliding-window attention."
        ) from error
