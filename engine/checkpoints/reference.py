"""What a checkpoint reference means: `default`, `demo`, a local folder, a `.gguf` file or a Hub id.

Parsing looks at the disk (does this path exist?) but never at the network. `os.path` is asked rather than
`Path`, whose questions raise for names that no disk can hold.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from engine.errors import CheckpointError

_HUB_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_HUB_ID = re.compile(rf"(?P<repo>(?:{_HUB_PART}/)?{_HUB_PART})(?:@(?P<revision>[\w./-]+))?")


@dataclass(frozen=True)
class Default:
    """The checkpoint that needs no GPU and no account: SmolLM2-135M-Instruct."""


@dataclass(frozen=True)
class Demo:
    """A tiny checkpoint that is made on the spot and understands nothing."""


@dataclass(frozen=True)
class LocalFolder:
    """A folder with `config.json`, safetensors weights and a tokenizer."""

    path: Path


@dataclass(frozen=True)
class GgufFile:
    """One `.gguf` file that holds weights, configuration and tokenizer."""

    path: Path


@dataclass(frozen=True)
class HubId:
    """A repository of the Hugging Face Hub, at a revision (branch, tag or commit) if one is named."""

    repo: str
    revision: str | None = None


Reference = Default | Demo | LocalFolder | GgufFile | HubId


def parse_reference(text: str) -> Reference:
    """The meaning of `text`; an existing folder wins over a Hub id of the same spelling.

    Raises `CheckpointError` for a malformed reference, and for a path with nothing at its end.
    """
    text = text.strip()
    if not text or "\0" in text:
        raise CheckpointError("The checkpoint reference is empty: give 'default', a folder, a .gguf file or a Hub id.")
    if text == "default":
        return Default()
    if text == "demo":
        return Demo()
    path = _expanded(text)
    if text.lower().endswith(".gguf"):
        if not os.path.isfile(path):
            raise CheckpointError(f"There is no file {path.name} at the path given: check its spelling.")
        return GgufFile(path)
    if os.path.isdir(path):
        return LocalFolder(path)
    if os.path.isfile(path):
        raise CheckpointError(
            f"{path.name} is a file, but only .gguf files hold a whole checkpoint: name its folder instead."
        )
    if _looks_like_path(text):
        raise CheckpointError(f"There is no folder {path.name or text!r} at the path given: check its spelling.")
    match = _HUB_ID.fullmatch(text)
    if match is None or "--" in text or ".." in text:
        raise CheckpointError(
            f"'{_shortened(text)}' is not a checkpoint reference: give 'default', a folder, a .gguf file "
            "or a Hub id such as HuggingFaceTB/SmolLM2-135M-Instruct."
        )
    return HubId(match["repo"], match["revision"])


def _expanded(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:  # the home of a user who is not there
        return Path(text)


def _looks_like_path(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~", ".\\", "..\\")) or text in (".", "..") or "\\" in text


def _shortened(text: str, limit: int = 80) -> str:
    printable = "".join(ch if ch.isprintable() else "?" for ch in text)
    return printable if len(printable) <= limit else printable[: limit - 1] + "…"
