"""Where conversations are kept, and that only their user can read them there."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from playground.settings import BY_REACH, KEEP_NOTHING
from playground.store.errors import StoreError

ENVIRONMENT = "DRAFTSCOPE_DATA"
FILE = "conversations.sqlite"


def data_folder(path: Path | str | None = None) -> Path:
    """The folder, made with mode 0700 if missing: `path`, else `DRAFTSCOPE_DATA`, else the user's data folder.

    A folder that was there keeps its mode: it may be one that others share. Raises `StoreError` if it cannot be made,
    and where the variable says that nothing is to be kept.
    """
    chosen = path or os.environ.get(ENVIRONMENT, "").strip()
    if chosen == KEEP_NOTHING:
        raise StoreError(f"Nothing is kept on this machine: {ENVIRONMENT} is {KEEP_NOTHING}.")
    named = chosen not in ("", BY_REACH)
    root = Path(chosen).expanduser() if named else Path(platformdirs.user_data_dir("draftscope", False))
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        root.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(_refusal("cannot be made", error)) from None
    return root


def private_file(path: Path) -> None:
    """Make `path` if missing, with mode 0600, and take other users' rights away. Raises `StoreError`.

    SQLite gives its journals the mode of the database, so this must happen before it opens one.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise StoreError(_refusal("cannot be written", error)) from None


def _refusal(what: str, error: OSError) -> str:
    return f"The folder for conversations {what} ({error.strerror}): set {ENVIRONMENT} to one you may write to."
