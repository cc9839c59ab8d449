"""The sweeps that a visitor can look at: those saved on this machine, and those opened or measured in this visit.

On a server that others can reach nothing is saved: what one visitor measured would be everyone's to read and delete.
There a sweep lives as long as the visit, and its file can be downloaded and opened again.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from playground.reach import reachable_by_others
from playground.settings import KEEP_NOTHING, Settings
from playground.store.errors import StoreError
from playground.sweep.run import Run
from playground.sweep.store import GONE, Stored, SweepStore

SHELF = 8
"""Runs that a visit holds besides the saved ones; the oldest makes room."""
VISITS = 100
OFF = "Nothing is kept on this machine (--data off), so sweeps are not saved: download what you want to keep."
SHARED = "Others can reach this server, so sweeps are not saved on it: download what you want to keep."


@dataclass(frozen=True)
class Listed:
    """One line of the list."""

    run: Run
    saved: bool


class Library:
    """Thread-safe. Methods raise `StoreError` with one sentence."""

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        off = settings.data == KEEP_NOTHING
        self._unsaved = OFF if off else SHARED
        """Why nothing is saved, where nothing is."""
        self._store = None if off or reachable_by_others(settings) else SweepStore(folder or settings.data_folder)
        self._shelves: OrderedDict[str, OrderedDict[str, Run]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def saves(self) -> bool:
        """Whether runs are saved on this machine."""
        return self._store is not None

    def keep(self, sid: str, run: Run) -> str:
        """Take a run that was measured. Returns what became of it, in one sentence."""
        if self._store is None:
            self.shelve(sid, run)
            return self._unsaved
        try:
            with self._lock:
                self._store.save(run)
        except StoreError as error:
            self.shelve(sid, run)
            return f"Not saved: {error}"
        return "Saved on this machine."

    def shelve(self, sid: str, run: Run) -> None:
        """Hold a run for this visit alone."""
        with self._lock:
            shelf = self._shelves.setdefault(sid, OrderedDict())
            self._shelves.move_to_end(sid)
            shelf[run.id] = run
            while len(shelf) > SHELF:
                shelf.popitem(last=False)
            while len(self._shelves) > VISITS:
                self._shelves.popitem(last=False)

    def take(self, sid: str, run: Run) -> Run:
        """Hold a run from a file for this visit; under another id if this one is another run's here."""
        try:
            known = self.get(sid, run.id)
        except StoreError:
            known = None
        if known != run:
            if known is not None:
                run = run.model_copy(update={"id": secrets.token_hex(8)})
            self.shelve(sid, run)
        return run

    def listed(self, sid: str) -> tuple[list[Listed], str]:
        """Every run, the latest first, and a sentence on what is not there, or ''."""
        with self._lock:
            held = list(self._shelf(sid).values())
            stored = Stored((), 0) if self._store is None else self._store.all()
        saved, note = stored.runs, self._unsaved if self._store is None else _unread(stored.unread)
        ids = {run.id for run in saved}
        lines = [Listed(run, True) for run in saved] + [Listed(run, False) for run in held if run.id not in ids]
        return sorted(lines, key=lambda line: line.run.created, reverse=True), note

    def get(self, sid: str, run_id: object) -> Run:
        """One run that this visitor can look at."""
        if not isinstance(run_id, str):
            raise StoreError(GONE)
        with self._lock:
            held = self._shelf(sid).get(run_id)
            if held is not None:
                return held
            if self._store is None:
                raise StoreError(GONE)
            return self._store.load(run_id)

    def remove(self, sid: str, run_id: object) -> None:
        """Delete a run for good, or take it off this visit's shelf."""
        if not isinstance(run_id, str):
            raise StoreError(GONE)
        with self._lock:
            held = self._shelf(sid).pop(run_id, None)
            if held is None and self._store is None:
                raise StoreError(GONE)
            if held is None and self._store is not None:
                self._store.delete(run_id)

    def _shelf(self, sid: str) -> OrderedDict[str, Run]:
        return self._shelves.get(sid) or OrderedDict()


def _unread(count: int) -> str:
    if not count:
        return ""
    are = "files in the folder are no sweeps" if count > 1 else "file in the folder is no sweep"
    return f"{count} {are} that this version can read; left alone."
