"""Where fetched and converted checkpoints are kept between starts, and how a folder gets there whole."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from engine.errors import CheckpointError

ENVIRONMENT = "DRAFTSCOPE_CACHE"
_PARTIAL = ".partial-"
_STALE_SECONDS = 24 * 3600


def cache_root() -> Path:
    """The user's cache folder for Draftscope, made if missing; `DRAFTSCOPE_CACHE` overrides the place.

    Raises `CheckpointError` if it cannot be made.
    """
    chosen = os.environ.get(ENVIRONMENT)
    root = Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir("draftscope", False))
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            f"The cache folder cannot be made ({error.strerror}): set {ENVIRONMENT} to a folder you may write to."
        ) from None
    return root


@contextmanager
def partial_folder() -> Iterator[Path]:
    """A fresh folder on the cache's own disk that is gone afterwards, unless `publish` renamed it."""
    root = cache_root()
    _remove_stale(root)
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=root))
    except OSError as error:
        raise CheckpointError(
            f"The cache folder cannot be written ({error.strerror}): set {ENVIRONMENT} to one that can."
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish(partial: Path, final: Path) -> None:
    """Give a finished folder its name in one step; of two processes that finish together the first wins."""
    final.parent.mkdir(parents=True, exist_ok=True)
    partial.chmod(0o755)
    try:
        partial.rename(final)
    except OSError:
        if not final.is_dir():
            raise


def require_disk(bytes_needed: int, what: str) -> None:
    """Raise `CheckpointError` if the cache's disk has no room for `bytes_needed` and a little more."""
    free = shutil.disk_usage(cache_root()).free
    if free < bytes_needed + 64 * 2**20:
        raise CheckpointError(
            f"{what} needs {bytes_needed / 1e9:.1f} GB in the cache folder but {free / 1e9:.1f} GB are free "
            "there: "
            f"make room, or set {ENVIRONMENT} to a folder on a larger disk."
        )


def _remove_stale(root: Path) -> None:
    """What a killed process left behind, once nobody can still be writing it."""
    for folder in root.glob(f"{_PARTIAL}*"):
        try:
            if time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        except FileNotFoundError:
            continue
