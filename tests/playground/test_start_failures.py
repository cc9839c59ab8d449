"""What can go wrong at a start is told at once, in one line that names the cause and what to do."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from playground.service import Service, chat_of, load_from_settings
from playground.settings import Settings
from tests.factories import build_checkpoint

ROOT = Path(__file__).parents[2]
HELP_S = 0.5


def told(**settings: Any) -> str:
    """What the page says of a start with these settings, which must fail."""
    service = Service(Settings(**settings), load_from_settings, chat_of)
    service.start()
    assert service.wait(120)
    status = service.status
    service.close()
    assert status.state == "failed" and "\n" not in status.sentence
    return status.sentence


def test_help_answers_within_half_a_second() -> None:
    walls = []
    for _ in range(5):
        begun = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "app.py", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        walls.append(time.perf_counter() - begun)
        assert done.returncode == 0 and "--draft-len" in done.stdout
    assert min(walls) < HELP_S, walls


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there(tiny_checkpoint: Callable[[str], Path]) -> None:
    sentence = told(model=str(tiny_checkpoint("llama")), device="cuda")
    assert sentence == "Device 'cuda' is not available on this machine; use --device cpu or auto."


def test_a_draft_model_with_another_vocabulary(tiny_checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    other = build_checkpoint("llama", tmp_path / "other")
    file = other / "tokenizer.json"
    text = file.read_text(encoding="utf-8")
    swapped = text.replace('"a":', '"@":').replace('"b":', '"a":').replace('"@":', '"b":')
    assert swapped != text
    file.write_text(swapped, encoding="utf-8")
    sentence = told(model=str(tiny_checkpoint("llama")), drafter=f"model:{other}", device="cpu", dtype="float32")
    assert "tokenizer" in sentence and "id " in sentence and str(tmp_path) not in sentence


@pytest.mark.parametrize(
    ("model", "says"),
    [("no/such/folder/here", "is not a checkpoint reference"), ("./nowhere", "nowhere"), ("", "--model is empty")],
)
def test_a_model_that_is_not_there(model: str, says: str) -> None:
    try:
        sentence = told(model=model, device="cpu")
    except Exception as error:  # noqa: BLE001 - an empty one is refused before anything is loaded
        sentence = str(error)
    assert says in sentence and sentence.rstrip().endswith(".")


def test_a_folder_without_a_configuration(tmp_path: Path) -> None:
    sentence = told(model=str(tmp_path), device="cpu")
    assert "config.json" in sentence and sentence.endswith(".")
