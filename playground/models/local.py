"""What is on this machine already: asked of disks and of the Hub's cache, never of the network."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import snapshot_download

from engine.checkpoints.demo import demo_folder
from engine.checkpoints.reference import Demo, HubId, LocalFolder, parse_reference
from engine.checkpoints.validate import require_tokenizer, weight_specs
from engine.errors import CheckpointError


def local_folder(reference: str) -> Path | None:
    """The folder of a whole checkpoint; None where something would have to be fetched or converted first.

    Raises `CheckpointError` for a reference that means nothing.
    """
    parsed = parse_reference(reference)
    if isinstance(parsed, LocalFolder):
        return parsed.path
    if isinstance(parsed, Demo):
        return demo_folder()
    return _cached(parsed) if isinstance(parsed, HubId) else None


def is_cached(reference: str) -> bool:
    """Whether a Hub id can be loaded without the Hub."""
    try:
        return local_folder(reference) is not None
    except CheckpointError:
        return False


def _cached(ref: HubId) -> Path | None:
    try:
        folder = Path(snapshot_download(ref.repo, revision=ref.revision, local_files_only=True))
        require_tokenizer(folder)
        weight_specs(folder)  # a download that was broken off has left some out
    except Exception:  # noqa: BLE001 - the library's ways to say "not here" are of several types
        return None
    return folder if (folder / "config.json").is_file() else None
