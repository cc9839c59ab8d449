"""The curated list against published geometries built anew, and the arithmetic of memory."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PretrainedConfig, Qwen2Config, Qwen3Config

from engine.verify_attention import rotary_limit
from kernels.attention import BLOCK
from playground.models.catalogue import ENTRIES, SMALL_SHARE, Entry, entry_of, why
from playground.models.engine_status import held_bytes
from playground.models.reading import params_text
from playground.models.room import Need, NoRoom, judge, size_text
from playground.models.size import Size, need_of, size_of_folder
from playground.settings import check_drafter
from tests.factories import ARCHS
from tests.playground.fakes import FakeEngine
from tests.playground.model_loads import GB, CountedEngine

KEYS = [entry.key for entry in ENTRIES]
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192}  # fmt: skip
GEOMETRIES: dict[str, tuple[type[PretrainedConfig], tuple[int, ...], bool, dict[str, Any]]] = {
    # class; hidden, intermediate, layers, heads, KV heads, head size, vocabulary, context; whether embeddings are tied
    "default": (LlamaConfig, (576, 1536, 30, 9, 3, 64, 49152, 8192), True, {}),
    "smollm2-360m": (LlamaConfig, (960, 2560, 32, 15, 5, 64, 49152, 8192), True, {}),
    "smollm2-1.7b": (LlamaConfig, (2048, 8192, 24, 32, 32, 64, 49152, 8192), True, {}),
    "qwen2.5-0.5b": (Qwen2Config, (896, 4864, 24, 14, 2, 64, 151936, 32768), True, {}),
    "qwen2.5-1.5b": (Qwen2Config, (1536, 8960, 28, 12, 2, 128, 151936, 32768), True, {}),
    "qwen2.5-3b": (Qwen2Config, (2048, 11008, 36, 16, 2, 128, 151936, 32768), True, {}),
    "qwen2.5-7b": (Qwen2Config, (3584, 18944, 28, 28, 4, 128, 152064, 32768), False, {}),
    "qwen3-0.6b": (Qwen3Config, (1024, 3072, 28, 16, 8, 128, 151936, 40960), True, {}),
    "qwen3-1.7b": (Qwen3Config, (2048, 6144, 28, 16, 8, 128, 151936, 40960), True, {}),
    "qwen3-4b": (Qwen3Config, (2560, 9728, 36, 32, 8, 128, 151936, 40960), True, {}),
    "qwen3-8b": (Qwen3Config, (4096, 12288, 36, 32, 8, 128, 151936, 40960), False, {}),
    "llama-3.2-1b": (LlamaConfig, (2048, 8192, 16, 32, 8, 64, 128256, 131072), True, {"rope_parameters": LLAMA3}),
    "llama-3.2-3b": (LlamaConfig, (3072, 8192, 28, 24, 8, 128, 128256, 131072), True, {"rope_parameters": LLAMA3}),
    "llama-3.1-8b": (LlamaConfig, (4096, 14336, 32, 32, 8, 128, 128256, 131072), False, {"rope_parameters": LLAMA3}),
}


@cache
def built(key: str) -> Any:
    """The whole model without its weights."""
    kind, (hidden, inner, layers, heads, kv_heads, head_dim, vocab, context), tied, more = GEOMETRIES[key]
    own = {} if kind is Qwen2Config else {"head_dim": head_dim}
    config = kind(
        hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=kv_heads, vocab_size=vocab, max_position_embeddings=context, tie_word_embeddings=tied,
        **own, **more,
    )  # fmt: skip
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config)


def measured(key: str) -> Size:
    """What a model built from its geometry has; keys and values by the shapes of its own projections."""
    model = built(key)
    layers = model.model.layers
    row = sum(layer.self_attn.k_proj.out_features + layer.self_attn.v_proj.out_features for layer in layers)
    return Size(sum(p.numel() for p in model.parameters()), row, model.config.max_position_embeddings)


@pytest.mark.parametrize("entry", ENTRIES, ids=KEYS)
def test_a_listed_model_has_the_size_of_its_geometry(entry: Entry):
    assert measured(entry.key) == entry.size


@pytest.mark.parametrize("wrong", [{"params": 361_821_121}, {"row": 40_960 * 2}, {"context": 4096}])
def test_teeth_a_wrong_number_is_found(wrong: dict[str, int]):
    assert measured("smollm2-360m") != replace(entry_of("HuggingFaceTB/SmolLM2-360M-Instruct").size, **wrong)


@pytest.mark.parametrize("key", KEYS)
def test_a_listed_model_is_of_an_architecture_that_is_served_exactly(key: str):
    config = built(key).config
    assert config.model_type in ARCHS, "tests/engine/test_exactness.py proves these"
    assert rotary_limit(config)[1] is None, "its positions do not depend on the forward"


def test_the_list_is_consistent():
    assert set(KEYS) == set(GEOMETRIES) and len(set(KEYS)) == len(KEYS)
    assert len({entry.reference for entry in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        check_drafter(entry.drafter)
        assert 100_000_000 < entry.size.params < 8_500_000_000 and entry.licence
        assert entry.gated == entry.reference.startswith("meta-llama/")
        if entry.draft_reference is None:
            assert entry.drafter == "ngram" and "no memory" in why(entry)
            continue
        draft = entry_of(entry.draft_reference)
        assert draft is not None and draft.family == entry.family and draft.size.context >= 4096
        assert draft.size.params <= SMALL_SHARE * entry.size.params
        assert not draft.gated or entry.gated
        assert why(entry) == f"The same tokenizer, {draft.size.params / entry.size.params:.0%} of the size."


def test_models_of_one_family_have_vocabularies_of_one_size_but_for_padding():
    vocabularies: dict[str, set[int]] = {}
    for entry in ENTRIES:
        vocabularies.setdefault(entry.family, set()).add(GEOMETRIES[entry.key][1][6])
    assert vocabularies.pop("qwen2.5") == {151936, 152064}, "rows past the tokenizer's last id are padding"
    assert all(len(sizes) == 1 for sizes in vocabularies.values())


def test_a_need_is_weights_of_both_and_every_slots_rows():
    trunk, draft = Size(1000, 10, 8192), Size(100, 4, 64)
    assert need_of(trunk, None, item=4, max_ctx=84, slots=2) == Need(4000, 4 * 2 * 100 * 10)
    assert need_of(trunk, draft, item=2, max_ctx=84, slots=2) == Need(2200, 2 * 2 * (100 * 10 + 65 * 4))
    assert need_of(trunk, None, item=4, max_ctx=0, slots=1).rows == 4 * (4096 + 16) * 10
    assert Need(1000, 50).total == 1150


def test_a_need_agrees_with_what_an_engine_takes(tiny_engine: Any, tiny_checkpoint: Any):
    engine = tiny_engine("llama", max_ctx=118)  # nobody else's, for all its slots count
    size = size_of_folder(tiny_checkpoint("llama"))
    need = need_of(size, None, item=4, max_ctx=118, slots=1)
    session = engine.new_session("none")
    engine.slots.acquire(session)
    taken = engine.memory()
    session.close()
    assert need.weights == taken["weights"]
    assert abs(taken["slots"] - need.rows) <= BLOCK * 4 * size.row, "a slot is of whole blocks"


def test_it_fits_or_fits_alone_or_does_not():
    need = Need(10 * GB, GB)
    assert [judge(need, free, 2 * GB) for free in (12 * GB, 11 * GB, 10 * GB, 9 * GB)] == [
        "fits",
        "unload",
        "unload",
        "no",
    ]
    error = NoRoom("big", need, 10 * GB, "cpu")
    assert error.helped_by(2 * GB) and not error.helped_by(GB)
    assert str(error) == (
        "big needs 12 GB on cpu, but 10 GB are free: choose a smaller one, start with --dtype bfloat16 or fewer "
        "--slots, or free memory."
    )


def test_rows_on_the_cpu_are_not_given_back_for_they_were_never_all_taken():
    engine = CountedEngine()
    assert held_bytes(engine) == 2 * GB and held_bytes(None) == 0 and held_bytes(FakeEngine()) == 0
    engine.trunk.device = "cuda:0"
    assert held_bytes(engine) == 3 * GB


def test_sizes_in_words():
    assert [size_text(n) for n in (538_060_032, 994_000_000, 999_000_000, 9_949_000_000, 9_960_000_000)] == [
        "538 MB", "994 MB", "1.0 GB", "9.9 GB", "10 GB",
    ]  # fmt: skip
    assert [params_text(n) for n in (134_515_008, 999_885_952, 1_711_376_384)] == ["135M", "1.0B", "1.7B"]
