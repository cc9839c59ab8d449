"""Loading a draft checkpoint beside a trunk: fits the tokenizer, fits the memory, or says why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from engine import attention
from engine.checkpoints import load_checkpoint
from engine.cuda.fit import open_path
from engine.drafters import MODEL
from engine.drafters.model import PATH_WIDTH, DraftModel, require_same_tokenizer
from engine.errors import CheckpointError
from engine.packed_linear import pack_linears
from engine.trunk import Trunk
from engine.verify_attention import require_servable

if TYPE_CHECKING:
    from engine.checkpoints import Checkpoint


def load_draft_model(
    name: str,
    trunk: Checkpoint,
    *,
    device: torch.device,
    dtype: torch.dtype,
    max_ctx: int,
    path_slots: int = 0,
    progress: Callable[[str, float | None], None] | None = None,
) -> DraftModel:
    """Load `model:REF` to draft for `trunk`.

    Its context is the shorter of its own and `max_ctx`; past it the drafter stops drafting. `path_slots` above 0 opens
    the device path for it, with rows for that many sessions at a time.

    Raises:
        CheckpointError: REF cannot be found, read, fitted in memory or run by this engine.
        DrafterMismatch: it has another tokenizer; names the first id that differs.
    """
    ref = name.removeprefix(MODEL)
    checkpoint = load_checkpoint(ref, device=device, dtype=dtype, attn_implementation=attention.NAME, progress=progress)
    vocab = require_same_tokenizer(trunk.tokenizer, checkpoint.tokenizer, trunk.id, checkpoint.id)
    pack_linears(checkpoint.model)
    return prepare_draft_model(name, checkpoint, vocab, max_ctx=max_ctx, path_slots=path_slots)


def prepare_draft_model(
    name: str, checkpoint: Checkpoint, vocab: int, *, max_ctx: int, path_slots: int = 0
) -> DraftModel:
    """A loaded checkpoint as a draft model whose first `vocab` ids are the trunk's.

    Raises CheckpointError where this engine cannot run it.
    """
    most = getattr(checkpoint.config.get_text_config(), "max_position_embeddings", None) or max_ctx
    limit = min(max_ctx, int(most))
    try:
        model = Trunk(checkpoint.model)
        require_servable(model, limit)
        if path_slots:
            model.head_widths = (PATH_WIDTH,)
            path, _ = open_path(model)
            if path is None:
                model.head_widths = (1,)
            else:
                path.prepare(path_slots, limit + PATH_WIDTH, (PATH_WIDTH,))
    except CheckpointError as error:
        raise CheckpointError(f"As a draft model: {error}") from error
    except (RuntimeError, LookupError, TypeError, AttributeError, ValueError) as error:
        raise CheckpointError(
            f"{checkpoint.id} cannot draft: {type(checkpoint.model).__name__} is not a model this engine can run."
        ) from error
    return DraftModel(name, model, min(vocab, model.vocab_rows), limit, checkpoint.bytes)
