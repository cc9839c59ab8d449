"""References: what each spelling means, and one sentence for each that means nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.checkpoints.reference import Default, Demo, GgufFile, HubId, LocalFolder, parse_reference
from engine.errors import CheckpointError


def test_default() -> None:
    assert parse_reference(" default ") == Default()


def test_demo() -> None:
    assert parse_reference("demo") == Demo()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("org/name", HubId("org/name")),
        ("gpt2", HubId("gpt2")),
        ("Org-1/na.me_2-B", HubId("Org-1/na.me_2-B")),
        ("org/name@refs/pr/1", HubId("org/name", "refs/pr/1")),
    ],
)
def test_hub_ids(text, expected) -> None:
    assert parse_reference(text) == expected


def test_an_existing_folder_wins_over_a_hub_id(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "name").mkdir(parents=True)
    assert parse_reference("org/name") == LocalFolder(Path("org/name"))
    assert parse_reference(str(tmp_path / "org")) == LocalFolder(tmp_path / "org")


def test_gguf_file_in_any_case(tmp_path: Path) -> None:
    path = tmp_path / "Model.GGUF"
    path.write_bytes(b"GGUF")
    assert parse_reference(str(path)) == GgufFile(path)


def test_home_is_expanded(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    assert parse_reference("~/models") == LocalFolder(tmp_path / "models")


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "a\0b", "a b", "org/name/file", "-x/y", "org//name", "https://example.org/m",
        "a--b/c", "org/../x", "name@", "é/x", "x" * 300, "~no-such-user/m m",
    ],
)  # fmt: skip
def test_malformed(text: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        parse_reference(text)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 250
    assert message.endswith(".")


@pytest.mark.parametrize("text", ["/no/such/folder", "./nothing", "../nothing", "~/nothing-here", "missing.gguf"])
def test_paths_with_nothing_at_their_end(text: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match="There is no") as caught:
        parse_reference(text)
    assert "/no/such" not in str(caught.value)  # a path is private; its last part is enough


def test_a_file_that_is_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"")
    with pytest.raises(CheckpointError, match="name its folder"):
        parse_reference(str(path))
