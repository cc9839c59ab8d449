"""`load_engine`: from a reference to an engine whose widths are proven."""

from __future__ import annotations

from engine import attention
from engine.checkpoints import Checkpoint, load_checkpoint
from engine.drafters import Drafter, check_name
from engine.drafters.draft_len import require_draft_len
from engine.engine import DEFAULT_MAX_CTX, MAX_DRAFT_LEN, Engine, Progress
from engine.errors import EngineError
from engine.place import device_of, dtype_of
from engine.verify_attention import rotary_limit


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
    device_path: bool | None = None,
    debug: bool | None = None,
    progress: Progress | None = None,
) -> Engine:
    """Load a checkpoint and prove its widths.

    Args:
        ref: `default`, `demo` (made on the spot, for looking at things), a local folder, a `.gguf` file, or a Hub id.
        drafter: default drafter of its sessions. draft_len: most drafts a round, `max_draft_len` by default.
        max_draft_len: 0 .. 32; fixes the round width W. 0 is the plain baseline at width 1.
        device: `auto`, `cpu`, `cuda`, `cuda:N`. dtype: `auto`, `float32`, `bfloat16`, `float16`.
        max_ctx: rows a session may commit; by default 4096, or fewer where the model allows no more.
        slots: sessions whose rows are resident at a time.
        pack: on the CPU, hold linear weights in oneDNN's packed layout; False keeps torch's own products.
        threads: CPU threads of this process's products; by default the fastest count up to torch's own, measured.
        device_path: the fused forwards and captured graphs of CUDA; by default where the device is one. True on the
            CPU runs the same code with the kernels' references, and graphs as plain calls: slower, for tests.
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
    where = device_of(device)
    checkpoint = load_checkpoint(
        ref,
        device=where,
        dtype=dtype_of(dtype, where),
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
        device_path=device_path,
        debug=debug,
        progress=progress,
    )


def _context(checkpoint: Checkpoint) -> int:
    """The default context: 4096 rows, or as many as the model was trained for and its rotary factors stay fixed."""
    trained = getattr(checkpoint.config.get_text_config(), "max_position_embeddings", None)
    limits = (DEFAULT_MAX_CTX, trained, rotary_limit(checkpoint.config)[1])
    return min(limit for limit in limits if limit)


def _require_count(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise EngineError(f"{name} must be a whole number of at least {least}, got {value!r}.")
