"""Sweeps in the user's data folder, one JSON file each, readable by their user alone."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from playground.exchange.errors import ExchangeError
from playground.store.errors import StoreError
from playground.store.folder import data_folder
from playground.sweep.run import LARGEST_FILE, Run, file_text, run_of

FOLDER = "sweeps"
MOST_RUNS = 200
GONE = "There is no saved sweep of this name any more."
_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Stored:
    """What the folder holds."""

    runs: tuple[Run, ...]
    """The latest first."""
    unread: int
    """Files that are not sweeps of this version; they are left as they are."""


class SweepStore:
    """Each method raises `StoreError` with one sentence, and then nothing has changed."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` takes the place of the user's data folder, which is only touched when something is asked."""
        self._folder = folder
        self._known: dict[str, tuple[int, int, Run]] = {}
        """By name: time and size of the file when it was read, and what it held."""

    def save(self, run: Run) -> None:
        """Write a run; a file of the same id is replaced, whole or not at all."""
        try:
            text = file_text(run)
        except ExchangeError as error:
            raise StoreError(str(error)) from None
        folder = self._root()
        names = self._names(folder)
        if len(names) >= MOST_RUNS and run.id not in names:
            raise StoreError(f"{MOST_RUNS} sweeps are saved already; delete one, or download this one.")
        draft = folder / f"{run.id}.{secrets.token_hex(4)}.tmp"
        try:
            with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
            draft.replace(folder / f"{run.id}.json")
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise StoreError(f"The sweep could not be saved ({error.strerror}); download it instead.") from None

    def all(self) -> Stored:
        """Every run that can be read."""
        folder = self._root()
        runs, unread = [], 0
        for name in self._names(folder)[:MOST_RUNS]:
            try:
                runs.append(self._read(folder, name))
            except (ExchangeError, OSError):
                unread += 1
        return Stored(tuple(sorted(runs, key=lambda run: run.created, reverse=True)), unread)

    def load(self, run_id: str) -> Run:
        """One run."""
        folder = self._root()
        if not _ID.fullmatch(run_id):
            raise StoreError(GONE)
        try:
            return self._read(folder, run_id)
        except FileNotFoundError:
            raise StoreError(GONE) from None
        except (ExchangeError, OSError):
            raise StoreError("This saved sweep cannot be read; its file is damaged or of a later version.") from None

    def delete(self, run_id: str) -> None:
        """Remove one run for good."""
        folder = self._root()
        if not _ID.fullmatch(run_id):
            raise StoreError(GONE)
        try:
            (folder / f"{run_id}.json").unlink()
        except FileNotFoundError:
            raise StoreError(GONE) from None
        except OSError as error:
            raise StoreError(f"The sweep could not be deleted ({error.strerror}).") from None
        self._known.pop(run_id, None)

    def _root(self) -> Path:
        root = (self._folder or data_folder()) / FOLDER
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"The folder for sweeps cannot be made ({error.strerror}).") from None
        return root

    def _names(self, folder: Path) -> list[str]:
        try:
            found = [path.stem for path in folder.glob("*.json") if _ID.fullmatch(path.stem)]
        except OSError as error:
            raise StoreError(f"The saved sweeps cannot be listed ({error.strerror}).") from None
        return sorted(found)

    def _read(self, folder: Path, name: str) -> Run:
        path = folder / f"{name}.json"
        state = path.stat()
        seen = (state.st_mtime_ns, state.st_size)
        known = self._known.get(name)
        if known is not None and known[:2] == seen:
            return known[2]
        with path.open("rb") as file:
            run = run_of(file.read(LARGEST_FILE + 1))
        if run.id != name:
            raise ExchangeError("The file is of another sweep than its name says.")
        self._known[name] = (*seen, run)
        return run
