"""The demo checkpoint: made without a download, the same every time, and worth looking at."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from engine import ChatSession, check_exact, load_engine
from engine.checkpoints import demo
from engine.checkpoints.demo import build, demo_folder
from engine.events import RoundEvent


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAFTSCOPE_CACHE", str(tmp_path_factory.mktemp("cache")))
        engine = load_engine("demo", pack=False, threads=1)
    yield engine
    engine.close()


def test_one_seed_makes_one_checkpoint_with_any_number_of_threads(tmp_path: Path) -> None:
    weights, threads = [], torch.get_num_threads()
    for count in (1, 2):
        torch.set_num_threads(count)
        build(tmp_path / str(count))
        weights.append(load_file(tmp_path / str(count) / "model.safetensors"))
    torch.set_num_threads(threads)
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


def test_it_is_made_once_and_again_when_something_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path))
    made: list[Path] = []
    monkeypatch.setattr(demo, "build", lambda folder: (made.append(folder), build(folder)))
    folder = demo_folder()
    assert demo_folder() == folder and len(made) == 1
    (folder / "model.safetensors").unlink()
    assert demo_folder() == folder and len(made) == 2 and (folder / "model.safetensors").is_file()


def test_its_answers_have_words_accepted_and_rejected_drafts_and_are_exact(engine) -> None:
    chat = ChatSession(engine)
    text = " ".join(chat.send(message, 100).text for message in ("Hello", "What is a round?"))
    rounds = chat.session.trace.of(RoundEvent)
    assert sum(event.accepted for event in rounds) > 10
    assert any(event.accepted < len(event.drafted) for event in rounds)
    known = set(" ".join(demo.TEXT).replace(",", "").replace(".", "").split())
    said = text.replace(",", "").replace(".", "").split()
    assert sum(word in known for word in said) > 0.9 * len(said), text
    assert check_exact(chat.session).identical
