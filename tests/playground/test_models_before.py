"""Ahead of a load: what is said before it begins, and what is refused before any weight is read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.checkpoints.reference import HubId
from engine.errors import CheckpointError, DrafterMismatch
from playground.models import prepare as preparing
from playground.models.allowed import Allowed
from playground.models.loading import LoadCancelled
from playground.models.local import is_cached, local_folder
from playground.models.machine import Machine
from playground.models.outlook import outlook
from playground.models.pairing import cautions
from playground.models.prepare import prepare
from playground.models.reading import pair_rows
from playground.models.room import NoRoom
from playground.models.size import Size, bytes_per_number, size_of_folder
from playground.settings import Settings
from tests.playground.model_loads import GB, running_service

Tiny = Callable[[str], Path]
ROOMY = Machine(device="cpu", item=4, free=20 * GB, held=2 * GB, max_ctx=0, slots=4)
SMOL = "HuggingFaceTB/SmolLM2-1.7B-Instruct"
SMALL = "HuggingFaceTB/SmolLM2-135M-Instruct"


def plenty(device: torch.device) -> int:
    return 20 * GB


def quiet(sentence: str, fraction: float | None) -> None:
    pass


@pytest.fixture(autouse=True)
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the Hub."""
    place = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(place))
    return place


def fetched(cache: Path, repo: str, folder: Path) -> Path:
    """Put a checkpoint into the Hub's cache, as its library does."""
    home = cache / f"models--{repo.replace('/', '--')}"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text("0123456789abcdef0123456789abcdef01234567")
    return Path(shutil.copytree(folder, home / "snapshots" / "0123456789abcdef0123456789abcdef01234567"))


@pytest.fixture
def other_tokenizer(tiny_checkpoint: Tiny, tmp_path: Path) -> Path:
    """A checkpoint whose tokenizer has two pieces the other way round."""
    folder = Path(shutil.copytree(tiny_checkpoint("qwen2"), tmp_path / "other"))
    file = folder / "tokenizer.json"
    whole = json.loads(file.read_text(encoding="utf-8"))
    vocab = whole["model"]["vocab"]
    one, two = sorted(vocab, key=vocab.get)[40:42]
    vocab[one], vocab[two] = vocab[two], vocab[one]
    file.write_text(json.dumps(whole), encoding="utf-8")
    return folder


def test_a_pair_that_fits_is_let_through_and_says_what_it_does(tiny_checkpoint: Tiny):
    said: list[str] = []
    wanted = Settings(model=str(tiny_checkpoint("llama")), drafter=f"model:{tiny_checkpoint('qwen2')}", device="cpu")
    prepare(wanted, lambda sentence, fraction: said.append(sentence), plenty)
    assert said == ["Comparing the tokenizers", "Checking that it fits"]


def test_another_tokenizer_is_refused_before_and_at_the_load(tiny_checkpoint: Tiny, other_tokenizer: Path):
    wanted = Settings(model=str(tiny_checkpoint("llama")), drafter=f"model:{other_tokenizer}", device="cpu")
    with pytest.raises(DrafterMismatch, match="other has another tokenizer than llama: id 40 is") as refused:
        prepare(wanted, quiet, plenty)
    assert outlook(wanted, ROOMY) == [str(refused.value)], "the page says the same before"
    assert str(other_tokenizer.parent) not in str(refused.value)


def test_a_pair_without_room_is_refused_with_its_numbers(tiny_checkpoint: Tiny):
    folder = tiny_checkpoint("llama")
    wanted = Settings(model=str(folder), drafter="none", device="cpu", max_ctx=256, slots=1)
    size = size_of_folder(folder)
    enough = int(4 * size.params * 1.1) + 4 * (256 + 16) * size.row
    prepare(wanted, quiet, lambda device: enough)
    with pytest.raises(NoRoom, match=r"llama needs .* on cpu, but .* are free"):
        prepare(wanted, quiet, lambda device: enough - 1)
    with pytest.raises(NoRoom):
        prepare(replace(wanted, drafter=f"model:{folder}"), quiet, lambda device: enough)
    with pytest.raises(NoRoom):
        prepare(replace(wanted, slots=2), quiet, lambda device: enough)


def test_what_the_hub_has_is_refused_by_its_size_before_it_is_fetched(
    monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Tiny
):
    asked: list[str] = []

    def hub_folder(ref: HubId, progress: object, check_size: Callable[[int], None], **more: object) -> Path:
        asked.append(ref.repo)
        check_size(30 * GB)
        return tiny_checkpoint("llama")

    monkeypatch.setattr(preparing, "hub_folder", hub_folder)
    with pytest.raises(NoRoom, match="model needs 16 GB on cpu, but 10 GB are free"):
        prepare(Settings(model="big/model", device="cpu"), quiet, lambda device: 10 * GB)
    prepare(Settings(model="big/model", device="cpu", drafter="model:big/small"), quiet, plenty)
    assert asked == ["big/model", "big/model", "big/small"]


def test_what_progress_raises_stops_it(tiny_checkpoint: Tiny):
    def stop(sentence: str, fraction: float | None) -> None:
        raise LoadCancelled

    with pytest.raises(LoadCancelled):
        prepare(Settings(model=str(tiny_checkpoint("llama")), device="cpu"), stop, plenty)


def test_a_folder_that_cannot_be_served_is_refused(tmp_path: Path):
    (tmp_path / "config.json").write_text('{"model_type": "t5", "is_encoder_decoder": true}', encoding="utf-8")
    wanted = Settings(model=str(tmp_path), device="cpu")
    with pytest.raises(CheckpointError, match="not a decoder-only causal language model"):
        prepare(wanted, quiet, plenty)
    assert "not a decoder-only" in outlook(wanted, ROOMY)[0]


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3", "gemma"])
def test_the_size_of_a_folder_is_that_of_the_loaded_model(arch: str, tiny_checkpoint: Tiny, tiny_engine: Any):
    size, engine = size_of_folder(tiny_checkpoint(arch)), tiny_engine(arch)
    assert size.params == engine.checkpoint.params
    assert size.row == sum(s.kv_heads * (s.key_dim + s.value_dim) for s in engine.trunk.shapes)


def test_a_draft_model_that_costs_too_much_or_ends_too_early_is_said():
    trunk = Size(1000, 10, 8192)
    assert cautions(trunk, Size(100, 4, 8192), 0) == []
    assert cautions(trunk, Size(400, 4, 8192), 0) == [
        "The draft model has 40% of the model's size, so its guesses are dear."
    ]
    assert cautions(trunk, Size(1000, 4, 2048), 0) == [
        "The draft model is not smaller than the model it drafts for, so rounds can only lose time.",
        "The draft model's context ends at 2,048 of 4,096 tokens; past that, rounds go on without drafts.",
    ]
    assert cautions(trunk, Size(100, 4, 2048), 1024) == []


def test_the_outlook_of_a_listed_pair_says_memory_download_and_tokenizer():
    wanted = Settings(model=SMOL, drafter=f"model:{SMALL}")
    assert outlook(wanted, ROOMY) == [
        "Needs 15 GB on cpu, 20 GB are free.",
        f"Fetches 3.7 GB from the Hub: {SMOL} and {SMALL}.",
        "The draft model has the same tokenizer.",
    ]
    tight = replace(ROOMY, free=14 * GB)
    assert outlook(wanted, tight)[0].endswith("14 GB are free: enough only once the running model is unloaded.")
    (short, *_) = outlook(wanted, replace(ROOMY, free=4 * GB))
    assert short == "Needs 15 GB on cpu, more than the 6.0 GB there are for it."
    halved = outlook(wanted, replace(ROOMY, item=2))
    assert halved[0] == "Needs 7.7 GB on cpu, 20 GB are free."


def test_the_outlook_of_others():
    gated = outlook(Settings(model="meta-llama/Llama-3.2-1B-Instruct"), ROOMY)
    assert gated[2] == (
        "Gated: ask for access on the Hub's page of meta-llama/Llama-3.2-1B-Instruct, and log in with `hf auth login` "
        "once."
    )
    mixed = outlook(Settings(model="Qwen/Qwen3-8B", drafter=f"model:{SMALL}"), ROOMY)
    assert mixed[-1] == f"{SMALL} has another tokenizer than Qwen/Qwen3-8B; choose a draft model of the same family."
    unknown = outlook(Settings(model="some/one", drafter="model:some/two"), ROOMY)
    assert unknown == [
        "Its size is not known here; the load asks for it first, and stops if it does not fit.",
        "Fetches from the Hub: some/one and some/two.",
        "Whether the draft model has the same tokenizer is checked before its weights are read.",
    ]
    assert outlook(Settings(model="default"), ROOMY)[1] == "Nothing has to be fetched from the Hub."


def test_what_is_in_the_cache_is_found_without_the_network(hub_cache: Path, tiny_checkpoint: Tiny):
    assert local_folder("some/one") is None and not is_cached("some/one") and not is_cached("a b")
    folder = fetched(hub_cache, "some/one", tiny_checkpoint("llama"))
    assert local_folder("some/one") == folder and is_cached("some/one")
    said = outlook(Settings(model="some/one"), ROOMY)
    assert said[0].startswith("Needs ") and said[1] == "Nothing has to be fetched from the Hub."
    (folder / "model.safetensors").unlink()
    assert not is_cached("some/one"), "a download that was broken off is not a checkpoint"


def test_rows_say_what_fits_what_runs_and_what_is_here(hub_cache: Path, tiny_checkpoint: Tiny):
    fetched(hub_cache, SMALL, tiny_checkpoint("llama"))
    fetched(hub_cache, SMOL, tiny_checkpoint("llama"))
    app, _ = running_service()
    app.settings = Settings(device="cpu")
    rows = {row["key"]: row for row in pair_rows(app, Allowed(app.settings), lambda device: 14 * GB)}
    app.close()
    assert [key for key, row in rows.items() if row["here"]] == ["smollm2-1.7b"]
    assert [key for key, row in rows.items() if row["running"]] == ["default"]
    assert [rows[key]["fit"] for key in ("default", "smollm2-1.7b", "qwen3-8b")] == ["fits", "unload", "no"]
    row = rows["smollm2-1.7b"]
    assert (row["params"], row["weights"], row["dtype"], row["licence"]) == ("1.7B", "6.8 GB", "float32", "Apache-2.0")
    assert (row["drafter"], row["why"]) == ("SmolLM2 135M", "The same tokenizer, 8% of the size.")
    assert rows["llama-3.2-1b"]["gated"] and not row["gated"]


def test_numbers_of_four_bytes_on_the_cpu_and_of_two_elsewhere():
    assert [bytes_per_number("auto", device) for device in ("cpu", "cuda", "cuda:1")] == [4, 2, 2]
    assert [bytes_per_number(dtype, "cpu") for dtype in ("bfloat16", "float16", "float32")] == [2, 2, 4]
