"""Loading a folder: what comes out, and one sentence for everything that can be wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, T5Config

from engine.checkpoints import load_checkpoint
from engine.checkpoints.load import _placement
from engine.errors import CheckpointError
from tests.engine.checkpoints.conftest import CHATML, llama_config, save_folder

CPU = torch.device("cpu")


def load(ref: Path | str, **options):
    return load_checkpoint(str(ref), device=CPU, attn_implementation="eager", **options)


def edit_config(folder: Path, **changes) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def refused(ref: Path | str, match: str, **options) -> str:
    with pytest.raises(CheckpointError, match=match) as caught:
        load(ref, **options)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert str(Path(ref).parent) == "." or str(Path(ref).parent) not in message  # no private paths
    return message


def test_what_comes_out(folder: Path) -> None:
    checkpoint = load(folder)
    assert checkpoint.id == "tiny-llama"
    assert checkpoint.stop_ids == {0, 2}
    assert checkpoint.chat_template == CHATML
    assert checkpoint.config._attn_implementation == "eager"
    assert not checkpoint.model.training
    assert not any(p.requires_grad for p in checkpoint.model.parameters())
    assert checkpoint.params == sum(p.numel() for p in checkpoint.model.parameters())
    assert checkpoint.bytes == 4 * checkpoint.params
    stored = load_file(folder / "model.safetensors")
    for name, tensor in checkpoint.model.state_dict().items():
        if name in stored:
            assert torch.equal(tensor, stored[name])


def test_weights_lie_on_cache_lines(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    save_file(tensors | {"_odd": torch.zeros(1)}, path, metadata={"format": "pt"})
    assert {p.data_ptr() % 64 for p in load(folder).model.parameters()} == {0}


def test_dtypes(folder: Path, tmp_path: Path) -> None:
    assert load(folder, dtype=torch.bfloat16).model.dtype == torch.bfloat16
    half = save_folder(tmp_path / "half", llama_config(), dtype=torch.bfloat16)
    assert load(half).model.dtype == torch.float32  # on the CPU, where 16-bit types are slower
    assert load(half, dtype=torch.bfloat16).bytes == load(half).bytes // 2


def test_shards(tmp_path: Path, folder: Path) -> None:
    whole = load(folder)
    sharded = tmp_path / "sharded"
    whole.model.save_pretrained(sharded, max_shard_size="60KB")
    whole.tokenizer.save_pretrained(sharded)
    assert len(list(sharded.glob("model-*.safetensors"))) > 1
    again = load(sharded)
    assert torch.equal(again.model.lm_head.weight, whole.model.lm_head.weight)
    next(sharded.glob("model-*.safetensors")).unlink()
    refused(sharded, "lacks the weight file")


def test_no_chat_template_still_loads(tmp_path: Path) -> None:
    checkpoint = load(save_folder(tmp_path / "raw", llama_config(), template=None))
    assert checkpoint.chat_template is None
    assert checkpoint.stop_ids == {0}


def test_progress_tells_steps_and_may_stop_the_load(folder: Path) -> None:
    said: list[tuple[str, float | None]] = []
    load(folder, progress=lambda sentence, fraction: said.append((sentence, fraction)))
    assert said[-1][1] == 1.0
    assert any("weights" in sentence for sentence, _ in said)

    class Stopped(Exception):
        pass

    def stop(sentence: str, fraction: float | None) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        load(folder, progress=stop)


def test_memory_is_asked_before_weights_are_read(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr("engine.checkpoints.load.AutoModelForCausalLM", None)  # reading would fail otherwise
    message = refused(folder, "choose a smaller checkpoint", free=lambda device: 1000)
    assert "tiny-llama needs" in message


def test_placement() -> None:
    cuda = torch.device("cuda", 0)
    assert _placement(100, CPU, lambda device: 1000, "x") == {"": "cpu"}
    assert _placement(100, cuda, lambda device: 1000, "x") == {"": "cuda:0"}
    assert _placement(100, cuda, lambda device: 50 if device.type == "cuda" else 1000, "x") == "auto"
    with pytest.raises(CheckpointError, match="needs"):
        _placement(100, cuda, lambda device: 50, "x")


def test_max_ctx_beyond_the_model(folder: Path) -> None:
    assert load(folder, max_ctx=256).id == "tiny-llama"
    refused(folder, "trained for 256 tokens", max_ctx=257)


@pytest.mark.parametrize(
    ("file", "match"),
    [
        ("config.json", "is not a checkpoint folder"),
        ("model.safetensors", "holds no weights"),
        ("tokenizer.json", "has no tokenizer"),
    ],
)
def test_a_file_is_missing(folder: Path, file: str, match: str) -> None:
    (folder / file).unlink()
    refused(folder, match)


@pytest.mark.parametrize("content", ["{", "[]", "\xff"])
def test_config_that_is_not_json(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content, encoding="latin-1")
    refused(folder, "config.json of tiny-llama")


def test_truncated_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    refused(folder, "cut short")


def test_truncated_tokenizer(folder: Path) -> None:
    path = folder / "tokenizer.json"
    path.write_text(path.read_text()[:500])
    refused(folder, "tokenizer of tiny-llama cannot be read")


def test_pickled_weights_are_not_read(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refused(folder, "pickle")


def test_gguf_in_a_folder_is_named_itself(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model.gguf")
    refused(folder, "name that file itself")


def test_weights_of_another_model(folder: Path) -> None:
    edit_config(folder, num_hidden_layers=3)
    refused(folder, "do not fit its config.json")
    edit_config(folder, num_hidden_layers=2, intermediate_size=80)
    refused(folder, "of tiny-llama")


def test_unknown_architecture(folder: Path) -> None:
    edit_config(folder, model_type="no-such-model")
    refused(folder, "no known architecture")


def test_code_in_a_checkpoint_is_not_run(folder: Path) -> None:
    marker = folder / "ran"
    (folder / "modeling_x.py").write_text(f"open({str(marker)!r}, 'w')")
    edit_config(folder, model_type="x-model", auto_map={"AutoConfig": "modeling_x.XConfig"})
    refused(folder, "--trust-remote-code")
    assert not marker.exists()


def test_code_beside_a_known_architecture_is_not_run(folder: Path) -> None:
    marker = folder / "ran"
    (folder / "modeling_x.py").write_text(f"open({str(marker)!r}, 'w')")
    edit_config(
        folder, auto_map={"AutoModelForCausalLM": "modeling_x.XForCausalLM", "AutoConfig": "modeling_x.XConfig"}
    )
    assert load(folder).id == "tiny-llama"
    assert not marker.exists()


@pytest.mark.parametrize(
    ("config", "architecture"),
    [(T5Config(), "T5ForConditionalGeneration"), (BertConfig(), "BertForMaskedLM"), (BertConfig(), "BertModel")],
)
def test_not_a_decoder(folder: Path, config, architecture: str) -> None:
    (folder / "config.json").write_text(json.dumps(config.to_dict() | {"architectures": [architecture]}))
    refused(folder, "not a decoder-only causal language model")


def test_quantised_weights_are_refused(folder: Path) -> None:
    edit_config(folder, quantization_config={"quant_method": "awq", "bits": 4})
    refused(folder, r"quantised \(awq\)")


def test_malformed_reference() -> None:
    refused("no such thing!", "is not a checkpoint reference")
