"""What a load would come to, said before it begins: memory, download, consent, and whether the drafter fits.

Asks this machine only. What it cannot know without the Hub it leaves open, and the load finds out first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.reference import HubId, parse_reference
from engine.errors import EngineError
from playground.models.catalogue import Entry, entry_of
from playground.models.local import local_folder
from playground.models.machine import Machine
from playground.models.pairing import cautions, require_pair
from playground.models.room import Need, Verdict, size_text
from playground.models.size import Size, size_of_folder
from playground.names import short_reference
from playground.settings import DRAFTER_PREFIX, Settings

PUBLISHED = 2
"""Bytes of a number in the files of every listed checkpoint."""


@dataclass(frozen=True)
class Known:
    """What this machine knows of one reference."""

    name: str
    entry: Entry | None
    folder: Path | None
    size: Size | None
    fetched: bool
    """Whether nothing has to come from the Hub."""


def known_of(reference: str) -> Known:
    """Raises `CheckpointError` for a reference that means nothing, and for a folder that cannot be served."""
    entry, folder = entry_of(reference), local_folder(reference)
    size = size_of_folder(folder) if folder is not None else entry.size if entry is not None else None
    fetched = folder is not None or not isinstance(parse_reference(reference), HubId)
    return Known(short_reference(reference), entry, folder, size, fetched)


def outlook(wanted: Settings, machine: Machine) -> list[str]:
    """A sentence for each thing worth knowing before this pair is loaded."""
    try:
        return _outlook(wanted, machine)
    except EngineError as error:
        return [str(error)]


def fault(wanted: Settings, machine: Machine) -> str:
    """Why this pair cannot be loaded, as far as this machine knows; '' where it may."""
    try:
        _outlook(wanted, machine)
    except EngineError as error:
        return str(error)
    return ""


def _outlook(wanted: Settings, machine: Machine) -> list[str]:
    trunk = known_of(wanted.model)
    draft = None
    if wanted.drafter.startswith(DRAFTER_PREFIX):
        draft = known_of(wanted.drafter.removeprefix(DRAFTER_PREFIX))
    both = [trunk] if draft is None else [trunk, draft]
    said = [_memory(trunk, draft, machine), *_download(both), *_consent(both)]
    return [*said, *(_pair(trunk, draft, wanted.max_ctx) if draft else [])]


def fit_sentence(need: Need, verdict: Verdict, machine: Machine) -> str:
    """Whether a need is met, and why not."""
    needs, free = f"Needs {size_text(need.total)} on {machine.device}", size_text(machine.free)
    if verdict == "fits":
        return f"{needs}, {free} are free."
    if verdict == "unload":
        return f"{needs}, {free} are free: enough only once the running model is unloaded."
    return f"{needs}, more than the {size_text(machine.free + machine.held)} there are for it."


def _memory(trunk: Known, draft: Known | None, machine: Machine) -> str:
    if trunk.size is None or (draft is not None and draft.size is None):
        return "Its size is not known here; the load asks for it first, and stops if it does not fit."
    need = machine.need(trunk.size, draft.size if draft else None)
    return fit_sentence(need, machine.judge(need), machine)


def _download(both: list[Known]) -> list[str]:
    missing = [known for known in both if not known.fetched]
    if not missing:
        return ["Nothing has to be fetched from the Hub."]
    sizes = [known.size for known in missing if known.size is not None]
    much = f" {size_text(PUBLISHED * sum(size.params for size in sizes))}" if len(sizes) == len(missing) else ""
    return [f"Fetches{much} from the Hub: {' and '.join(known.name for known in missing)}."]


def _consent(both: list[Known]) -> list[str]:
    gated = [known.name for known in both if known.entry is not None and known.entry.gated and not known.fetched]
    if not gated:
        return []
    return [f"Gated: ask for access on the Hub's page of {gated[0]}, and log in with `hf auth login` once."]


def _pair(trunk: Known, draft: Known, max_ctx: int) -> list[str]:
    if trunk.folder is not None and draft.folder is not None:
        require_pair(trunk.folder, draft.folder, trunk.name, draft.name)
        said = ["The draft model has the same tokenizer."]
    elif trunk.entry is None or draft.entry is None:
        said = ["Whether the draft model has the same tokenizer is checked before its weights are read."]
    elif trunk.entry.family == draft.entry.family:
        said = ["The draft model has the same tokenizer."]
    else:
        return [f"{draft.name} has another tokenizer than {trunk.name}; choose a draft model of the same family."]
    if trunk.size is not None and draft.size is not None:
        said += cautions(trunk.size, draft.size, max_ctx)
    return said
