"""A checkpoint of the Hugging Face Hub as a folder on this machine: what is asked, fetched, and said when it
fails.

One request with a short timeout comes first. It tells a missing route within seconds (the library's own
downloads retry for half a minute), and how large the weights are before any of them is fetched.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    XetDownloadError,
)
from huggingface_hub.errors import HTTPError as TransportError  # type: ignore[attr-defined]  # of its HTTP client
from tqdm import tqdm

from engine.checkpoints.progress import Progress
from engine.checkpoints.reference import HubId
from engine.checkpoints.validate import INDEX
from engine.errors import CheckpointError

_TIMEOUT_SECONDS = 5.0
_SUFFIXES = (".json", ".jinja", ".model", ".txt")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def hub_folder(
    ref: HubId, progress: Progress, check_size: Callable[[int], None], *, trust_remote_code: bool = False
) -> Path:
    """The folder with the checkpoint's files, fetched where the Hub's own cache lacks them.

    `check_size(bytes)` is called with the size of the weight files before any is fetched, and may raise.
    Raises `CheckpointError` with one sentence for every way this can fail.
    """
    progress(f"Asking the Hub for {ref.repo}", None)
    try:
        info = HfApi().model_info(ref.repo, revision=ref.revision, files_metadata=True, timeout=_TIMEOUT_SECONDS)
    except Exception as error:  # noqa: BLE001 - the library's transport raises types of several packages
        return _without_answer(ref, error)
    files = _wanted({s.rfilename: int(s.size or 0) for s in info.siblings or []}, ref, trust_remote_code)
    check_size(sum(size for name, size in files.items() if name.endswith(".safetensors")))
    return _download(ref, str(info.sha), files, progress)


def _wanted(sizes: dict[str, int], ref: HubId, trust_remote_code: bool) -> dict[str, int]:
    """The files to fetch: settings, tokenizer, and one set of safetensors weights."""
    if "model.safetensors" in sizes:
        weights = {"model.safetensors"}
    else:
        weights = {n for n in sizes if n.startswith("model-") and n.endswith(".safetensors") and "/" not in n}
    if not weights or "config.json" not in sizes:
        what = "weights as safetensors" if "config.json" in sizes else "config.json"
        raise CheckpointError(f"{ref.repo} has no {what} on the Hub: choose a text-generation checkpoint that has.")
    suffixes = (*_SUFFIXES, ".py") if trust_remote_code else _SUFFIXES
    wanted = {name: size for name, size in sizes.items() if "/" not in name and name.endswith(suffixes)}
    if "model.safetensors" in weights:
        wanted.pop(INDEX, None)
    return wanted | {name: sizes[name] for name in weights}


def _download(ref: HubId, sha: str, files: dict[str, int], progress: Progress) -> Path:
    total, done = max(sum(files.values()), 1), 0
    folder = Path()
    for name, size in sorted(files.items(), key=lambda item: item[1]):
        sentence = f"Fetching {ref.repo}: {name}"
        progress(sentence, done / total)
        bar = _bar_class(progress, sentence, done, total)
        try:
            folder = Path(hf_hub_download(ref.repo, name, revision=sha, tqdm_class=bar)).parent
        except (TransportError, XetDownloadError, OSError) as error:
            raise _refusal(ref, error) from None
        done += size
    return folder


def _bar_class(progress: Progress, sentence: str, done: int, total: int) -> type[Any]:
    """A progress bar for the library that draws nothing and reports to `progress`."""

    class Bar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs["disable"] = True
            kwargs.pop("name", None)
            super().__init__(*args, **kwargs)
            self.seen = 0.0

        def update(self, n: float | None = 1) -> bool | None:
            self.seen += n or 0
            progress(sentence, min((done + self.seen) / total, 1.0))
            return None

    return Bar


def _without_answer(ref: HubId, error: Exception) -> Path:
    """What is left when the first request failed: a copy fetched earlier, or the reason in one sentence."""
    if _is_answer(error):
        raise _refusal(ref, error) from None
    try:
        return Path(snapshot_download(ref.repo, revision=ref.revision, local_files_only=True))
    except Exception:  # noqa: BLE001 - no whole copy here; several types say so, some of them plain Exceptions
        raise _refusal(ref, error) from None


def _is_answer(error: Exception) -> bool:
    return isinstance(error, HfHubHTTPError | HFValidationError)


def _refusal(ref: HubId, error: Exception) -> CheckpointError:
    name = ref.repo if ref.revision is None else f"{ref.repo}@{ref.revision}"
    if isinstance(error, GatedRepoError):  # first: it is a kind of RepositoryNotFoundError
        return CheckpointError(
            f"{name} is gated: ask for access on its page of the Hub, log in with `hf auth login`, then load it again."
        )
    if isinstance(error, RevisionNotFoundError):
        return CheckpointError(f"{ref.repo} has no revision {ref.revision!r} on the Hub: check its spelling.")
    if isinstance(error, RepositoryNotFoundError | HFValidationError):
        return CheckpointError(
            f"The Hub has no checkpoint {name} that you may read: check its spelling, or log in with `hf "
            "auth login` "
            "if it is private."
        )
    if isinstance(error, HfHubHTTPError):
        status = getattr(getattr(error, "response", None), "status_code", "an error")
        return CheckpointError(f"The Hub answered {status} for {name}: try again later.")
    cause = getattr(error, "errno", None)
    if cause in _FULL or "No space left" in str(error):
        return CheckpointError(
            f"The disk is full, so {name} was not fetched: make room, or set HF_HOME to another disk."
        )
    if cause in _CLOSED:
        return CheckpointError(f"{name} was not fetched, for the Hub's cache is read-only here: set HF_HOME elsewhere.")
    return CheckpointError(
        f"The Hub cannot be reached, so {name} cannot be fetched: check the connection, or use 'default' or "
        "a local "
        "checkpoint."
    )
