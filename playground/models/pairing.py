"""Do a model and its draft model fit each other? Found from their folders, before any weight is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from engine.drafters.model import require_same_tokenizer
from engine.engine import DEFAULT_MAX_CTX
from engine.errors import CheckpointError
from playground.models.size import Size


def require_pair(trunk: Path, draft: Path, trunk_name: str, draft_name: str) -> None:
    """Raise `DrafterMismatch` naming the first id that differs, `CheckpointError` for a tokenizer that is damaged."""
    require_same_tokenizer(_tokenizer(trunk, trunk_name), _tokenizer(draft, draft_name), trunk_name, draft_name)


def cautions(trunk: Size, draft: Size, max_ctx: int) -> list[str]:
    """What speaks against a draft model that fits, a sentence each. `max_ctx` is 0 for the engine's own choice."""
    found = []
    share = draft.params / trunk.params
    if share >= 1:
        found.append("The draft model is not smaller than the model it drafts for, so rounds can only lose time.")
    elif share > 1 / 3:
        found.append(f"The draft model has {share:.0%} of the model's size, so its guesses are dear.")
    most = max_ctx or min(DEFAULT_MAX_CTX, trunk.context)
    if draft.context < most:
        found.append(
            f"The draft model's context ends at {draft.context:,} of {most:,} tokens; past that, rounds go on without "
            "drafts."
        )
    return found


def _tokenizer(folder: Path, name: str) -> Any:
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # noqa: BLE001 - a damaged file surfaces as any type
        raise CheckpointError(
            f"The tokenizer of {name} cannot be read ({type(error).__name__}): fetch its files again."
        ) from None
