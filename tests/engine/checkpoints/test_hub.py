"""The Hub, without the Hub: every way a request can end, with the library's calls replaced."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    XetDownloadError,
)

from engine.checkpoints import hub, load_checkpoint
from engine.checkpoints.progress import silent
from engine.checkpoints.reference import HubId
from engine.errors import CheckpointError

REF = HubId("org/name")


def http(kind: type[HfHubHTTPError], status: int) -> HfHubHTTPError:
    response = SimpleNamespace(status_code=status, headers={}, request=None)
    return kind("401 Client Error: Bearer hf_secret", response=response)


class FakeHub:
    """Files of one repository, served by the two calls that `hub` makes."""

    def __init__(self, folder: Path | None = None, error: Exception | None = None) -> None:
        self.folder, self.error, self.fetched = folder, error, []

    def model_info(self, repo: str, **options: object) -> object:
        assert options["timeout"] <= 5
        if self.error is not None:
            raise self.error
        names = [p.relative_to(self.folder).as_posix() for p in sorted(self.folder.rglob("*")) if p.is_file()]
        sizes = [(self.folder / name).stat().st_size for name in names]
        siblings = [SimpleNamespace(rfilename=n, size=s) for n, s in zip(names, sizes, strict=True)]
        return SimpleNamespace(siblings=siblings, sha="abc")

    def download(self, repo: str, name: str, *, revision: str, tqdm_class: type) -> str:
        assert revision == "abc"
        self.fetched.append(name)
        tqdm_class(total=10, unit="B", desc=name, name="hub").update(5)
        return str(self.folder / name)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch):
    def put(fake: FakeHub) -> FakeHub:
        def nothing_cached(*args: object, **options: object) -> str:
            assert options["local_files_only"]
            raise LocalEntryNotFoundError("nothing here")

        monkeypatch.setattr(hub, "HfApi", lambda: fake)
        monkeypatch.setattr(hub, "hf_hub_download", fake.download)
        monkeypatch.setattr(hub, "snapshot_download", nothing_cached)
        return fake

    return put


@pytest.mark.parametrize(
    ("error", "match"),
    [
        (http(GatedRepoError, 403), "org/name is gated: ask for access"),
        (http(RepositoryNotFoundError, 401), "The Hub has no checkpoint org/name"),
        (http(RevisionNotFoundError, 404), "has no revision"),
        (http(HfHubHTTPError, 503), "The Hub answered 503"),
        (OfflineModeIsEnabled("offline"), "The Hub cannot be reached"),
        (TimeoutError("timed out"), "The Hub cannot be reached"),
        (ConnectionError("[Errno -2] Name or service not known"), "The Hub cannot be reached"),
    ],
)
def test_refusals(install, error: Exception, match: str) -> None:
    install(FakeHub(error=error))
    with pytest.raises(CheckpointError, match=match) as caught:
        hub.hub_folder(REF, silent, lambda size: None)
    assert "hf_secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "match"),
    [
        (OSError(28, "No space left on device", "/home/ann/.cache/x"), "The disk is full, so org/name was not fetched"),
        (XetDownloadError("I/O error: No space left on device (os error 28)"), "The disk is full"),
        (PermissionError(13, "Permission denied", "/home/ann/.cache/x"), "cache is read-only here"),
        (ConnectionResetError(104, "Connection reset by peer"), "The Hub cannot be reached"),
    ],
)
def test_a_download_that_breaks_off_says_what_to_do(install, monkeypatch, folder: Path, error: Exception, match: str):
    def breaks(*given: object, **named: object) -> str:
        raise error

    install(FakeHub(folder))
    monkeypatch.setattr(hub, "hf_hub_download", breaks)
    with pytest.raises(CheckpointError, match=match) as caught:
        hub.hub_folder(REF, silent, lambda size: None)
    assert "/home" not in str(caught.value) and "\n" not in str(caught.value)


def test_no_route_but_fetched_before(install, monkeypatch, folder: Path) -> None:
    install(FakeHub(error=ConnectionError("no route")))
    monkeypatch.setattr(hub, "snapshot_download", lambda *a, **k: str(folder))
    assert hub.hub_folder(REF, silent, lambda size: None) == folder


def test_loads_what_it_fetched(install, folder: Path) -> None:
    (folder / "model.py").write_text("raise SystemExit")
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.safetensors").write_bytes(b"")
    fake = install(FakeHub(folder))
    said: list[float] = []
    checkpoint = load_checkpoint(
        "org/name", device=torch.device("cpu"), progress=lambda sentence, fraction: said.append(fraction or 0.0)
    )
    assert checkpoint.id == "org/name"
    assert "model.safetensors" in fake.fetched
    assert not {"model.py", "pytorch_model.bin", "onnx/model.safetensors"} & set(fake.fetched)
    assert fake.fetched[-1] == "model.safetensors"  # small files first: settings are refused before weights come
    assert max(said) == 1.0


def test_too_large_is_refused_before_any_file_is_fetched(install, folder: Path) -> None:
    fake = install(FakeHub(folder))
    with pytest.raises(CheckpointError, match="org/name needs"):
        load_checkpoint("org/name", device=torch.device("cpu"), free=lambda device: 1000)
    assert fake.fetched == []


def test_without_safetensors(install, folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    fake = install(FakeHub(folder))
    with pytest.raises(CheckpointError, match="no weights as safetensors"):
        hub.hub_folder(REF, silent, lambda size: None)
    assert fake.fetched == []


def test_the_route_breaks_in_the_middle(install, folder: Path, monkeypatch) -> None:
    install(FakeHub(folder))

    def broken(*args: object, **options: object) -> str:
        raise LocalEntryNotFoundError("connection lost")

    monkeypatch.setattr(hub, "hf_hub_download", broken)
    with pytest.raises(CheckpointError, match="cannot be reached"):
        hub.hub_folder(REF, silent, lambda size: None)


def test_progress_stops_a_download(install, folder: Path) -> None:
    install(FakeHub(folder))
    calls = 0

    class Stopped(Exception):
        pass

    def stop(sentence: str, fraction: float | None) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:  # asking, first file, first bytes
            raise Stopped

    with pytest.raises(Stopped):
        hub.hub_folder(REF, stop, lambda size: None)
