"""`Engine`: one loaded checkpoint, its trunk, widths and slots; makes sessions."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import torch
import transformers

from engine import attention
from engine.checkpoints import Checkpoint, load_checkpoint
from engine.drafters import MODEL, Drafter, check_name, make_drafter
from engine.drafters.load_model import load_draft_model
from engine.drafters.model import DraftModel, ModelDrafter
from engine.errors import CheckpointError, EngineError
from engine.packed_linear import pack_linears
from engine.session import SpecSession, require_draft_len
from engine.slots import SlotPool
from engine.threads import fastest_thread_count
from engine.trace import Trace, TraceHeader
from engine.trunk import Trunk
from engine.verify_attention import require_servable, rotary_limit
from engine.width import plan_widths

T = TypeVar("T")
Progress = Callable[[str, float | None], None]

DEFAULT_MAX_CTX = 4096
MAX_DRAFT_LEN = 7
PREFILL_CHUNK = 128
"""Tokens per prefill forward: a Stop acts within a fifth of a second on two cores. Longer chunks are more efficient:
720 tokens of the default checkpoint take 1.1 s in chunks of 128, 1.4 s in chunks of 64."""


class Engine:
    """A loaded checkpoint, ready to make sessions. Made by `load_engine`."""

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
        self.threads = _prepare(checkpoint, lambda: _choose_threads(self.trunk, max_draft_len + 1, threads))
        self.trunk.threads = self.threads
        say("Measuring forward widths on this device", 0.8)
        self.widths = _prepare(checkpoint, lambda: plan_widths(self.trunk, max_draft_len))
        self.slots = SlotPool(self.trunk, slots, max_ctx + self.widths.width)
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
                progress=progress,
            )
        return ModelDrafter(self._draft_models[drafter])

    def close(self) -> None:
        """Let go of the weights and of every slot; sessions of this engine cannot run any more."""
        self.closed = True
        self.slots.close()
        del self.trunk, self.checkpoint

    def memory(self) -> dict[str, int]:
        """Bytes: `weights`, `draft_weights`, `slots` (reserved; on the CPU only touched pages are resident)."""
        return {
            "weights": self.checkpoint.bytes,
            "draft_weights": sum(model.nbytes for model in self._draft_models.values()),
            "slots": self.slots.nbytes,
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


def load_engine(
    ref: str = "default",
    *,
    drafter: str | Drafter = "ngram",
    draft_len: int | None = None,
    max_draft_len: int = MAX_DRAFT_LEN,
    device: str = "auto",
    dtype: str = "auto",
    max_ctx: int | None = None,
    slots: int = 4,
    trust_remote_code: bool = False,
    pack: bool = True,
    threads: int | None = None,
    debug: bool | None = None,
    progress: Progress | None = None,
) -> Engine:
    """Load a checkpoint and prove its widths.

    Args:
        ref: `default`, a local folder, a `.gguf` file, or a Hub id.
        drafter: default drafter of its sessions. draft_len: most drafts a round, `max_draft_len` by default.
        max_draft_len: 0 .. 32; fixes the round width W. 0 is the plain baseline at width 1.
        device: `auto`, `cpu`, `cuda`, `cuda:N`. dtype: `auto`, `float32`, `bfloat16`, `float16`.
        max_ctx: rows a session may commit; by default 4096, or fewer where the model allows no more.
        slots: sessions whose rows are resident at a time.
        pack: on the CPU, hold linear weights in oneDNN's packed layout; False keeps torch's own products.
        threads: CPU threads of this process's products; by default the fastest count up to torch's own, measured.
        debug: assert the session invariants after every call (default: env DRAFTSCOPE_DEBUG).
        progress: told what is going on, with a fraction; what it raises stops the load.

    Raises:
        CheckpointError: the checkpoint cannot be found, read, fitted or served exactly.
        DrafterMismatch: the drafter is unknown or the draft length out of range.
        EngineError: another setting is out of range.
    """
    require_draft_len(max_draft_len, 32)
    if max_ctx is not None:
        _require_count("max_ctx", max_ctx, 16)
    _require_count("slots", slots, 1)
    if threads is not None:
        _require_count("threads", threads, 1)
    check_name(drafter)
    where = _device(device)
    checkpoint = load_checkpoint(
        ref,
        device=where,
        dtype=_dtype(dtype, where),
        attn_implementation=attention.NAME,
        max_ctx=max_ctx,
        trust_remote_code=trust_remote_code,
        progress=progress,
    )
    return Engine(
        checkpoint,
        drafter=drafter,
        draft_len=max_draft_len if draft_len is None else draft_len,
        max_draft_len=max_draft_len,
        max_ctx=_context(checkpoint) if max_ctx is None else max_ctx,
        slots=slots,
        pack=pack,
        threads=threads,
        debug=debug,
        progress=progress,
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


def _context(checkpoint: Checkpoint) -> int:
    """The default context: 4096 rows, or as many as the model was trained for and its rotary factors stay fixed."""
    trained = getattr(checkpoint.config.get_text_config(), "max_position_embeddings", None)
    limits = (DEFAULT_MAX_CTX, trained, rotary_limit(checkpoint.config)[1])
    return min(limit for limit in limits if limit)


def _choose_threads(trunk: Trunk, width: int, asked: int | None) -> int:
    """Set the number of CPU threads: as asked, or the fastest for forwards of `width` columns."""
    if asked is not None:
        torch.set_num_threads(asked)
    elif trunk.device.type == "cpu":
        slot, tokens = trunk.new_slot(width), [0] * width
        fastest_thread_count(
            lambda: trunk.forward(slot, 0, tokens, width, keep=[0]), torch.get_num_threads(), torch.set_num_threads
        )
    return torch.get_num_threads()


def _require_count(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise EngineError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise EngineError(f"There is no device {name!r}; use auto, cpu, cuda or cuda:N.") from None
    if device.type not in ("cpu", "cuda") or (device.type == "cuda" and not torch.cuda.is_available()):
        raise EngineError(f"Device {name!r} is not available on this machine; use --device cpu or auto.")
    return device


def _dtype(name: str, device: torch.device) -> torch.dtype | Literal["auto"]:
    """`auto` is fp32 on the CPU and the checkpoint's own dtype on a GPU."""
    if name == "auto":
        return torch.float32 if device.type == "cpu" else "auto"
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if name not in known:
        raise EngineError(f"There is no dtype {name!r}; use auto, {', '.join(known)}.")
    return known[name]
