"""Fused modules against the stock ones: the same bits through the references, close through Triton; others kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from importlib import import_module
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    Gemma2Config,
    GemmaConfig,
    LlamaConfig,
    MistralConfig,
    Olmo2Config,
    Phi3Config,
    PretrainedConfig,
    Qwen2Config,
    Qwen3Config,
    SmolLM3Config,
)
from transformers.models.gemma2.modeling_gemma2 import Gemma2MLP
from transformers.models.gemma3.configuration_gemma3 import Gemma3TextConfig
from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm

from engine import fused_modules
from engine.fused_modules import FORMULAS, fuse, unfuse
from kernels import dispatch

SIZES = {"vocab_size": 61, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "head_dim": 8}
SIZES |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "pad_token_id": 0}
CONFIGS: dict[str, type[PretrainedConfig]] = {
    "llama": LlamaConfig,
    "mistral": MistralConfig,
    "qwen2": Qwen2Config,
    "qwen3": Qwen3Config,
    "smollm3": SmolLM3Config,
    "phi3": Phi3Config,
    "olmo2": Olmo2Config,
    "gemma": GemmaConfig,
    "gemma2": Gemma2Config,
    "gemma3": Gemma3TextConfig,
}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # on the CPU: in the interpreter (tests/conftest.py)
MLPS = [names for names in FORMULAS if names[1].endswith("MLP")]
NORMS = [names for names in FORMULAS if names[1].endswith("Norm")]
overflow = pytest.mark.filterwarnings(
    "ignore:overflow:RuntimeWarning"
)  # the interpreter is numpy, which remarks on exp


def _config(family: str, **changes: Any) -> PretrainedConfig:
    cls = CONFIGS[family]
    sizes = {
        key: value for key, value in SIZES.items() if key != "head_dim" or family not in ("qwen2", "phi3", "olmo2")
    }
    return cls(**sizes | {"hidden_size": 32} | changes)


def _family(module: str) -> str:
    return module.rsplit("modeling_")[-1]


def _filled(module: nn.Module, dtype: torch.dtype = torch.float32) -> nn.Module:
    """Random weights everywhere, the norms' included, which start as ones or zeros."""
    generator = torch.Generator().manual_seed(3)
    for parameter in module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.3
    return module.to(dtype).eval()


def _class(names: tuple[str, str]) -> type[nn.Module]:
    cls: type[nn.Module] = getattr(import_module(names[0]), names[1])
    return cls


def _norm(names: tuple[str, str]) -> nn.Module:
    return _filled(_class(names)(32, eps=1e-5))


def _mlp(names: tuple[str, str]) -> nn.Module:
    return _filled(_class(names)(_config(_family(names[0]))))


def _run(module: nn.Module, *inputs: Tensor) -> Tensor:
    with torch.inference_mode():
        out: Tensor = module(*inputs)
    return out


def _fused(module: nn.Module) -> nn.Module:
    """A fused copy. The names `fuse` gives it are those of every module that has a formula."""
    copy = deepcopy(module)
    assert fuse(copy, force=True) == [n for n, m in copy.named_modules() if fused_modules._formula(m) is not None]
    return copy


@contextmanager
def _triton() -> Iterator[None]:
    """Operations run as Triton kernels inside, and some must."""
    with dispatch.force("fused"), patch.object(dispatch, "_load", wraps=dispatch._load) as load:
        yield
    assert {call.args[1] for call in load.call_args_list} == {"fused"}


def _check(module: nn.Module, x: Tensor, tolerance: float = 1e-5) -> None:
    stock = _run(module, x)
    fused = _fused(module)
    assert torch.equal(_run(fused, x), stock)
    pytest.importorskip("triton", reason="Triton has no package for this platform")
    with _triton():
        found = _run(fused.to(DEVICE), x.to(DEVICE)).cpu()
    torch.testing.assert_close(found, stock, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("names", NORMS, ids=lambda names: names[1])
def test_every_norm_of_the_table_is_the_stock_one(names, dtype):
    _check(_norm(names).to(dtype), torch.randn(1, 5, 32).to(dtype), 1e-5 if dtype == torch.float32 else 4e-2)


@overflow
@pytest.mark.parametrize("names", MLPS, ids=lambda names: names[1])
def test_every_gated_layer_of_the_table_is_the_stock_one(names):
    _check(_mlp(names), torch.randn(1, 5, 32) * 3, 1e-4)


@overflow
@pytest.mark.parametrize("family", CONFIGS)
def test_a_fused_model_has_the_stock_model_s_logits(family):
    from transformers import AutoModelForCausalLM

    torch.manual_seed(7)
    model = AutoModelForCausalLM.from_config(_config(family), attn_implementation="eager").eval()
    ids = torch.randint(0, 61, (1, 9))
    fused = deepcopy(model)
    names = fuse(fused, force=True)
    layers = {name.split(".")[2] for name in names if name.startswith("model.layers.")}
    assert layers == {"0", "1"} and "model.norm" in names and "model.layers.1.mlp" in names
    with torch.inference_mode():
        stock = model(ids, use_cache=False).logits
        assert torch.equal(fused(ids, use_cache=False).logits, stock)
        with _triton():
            found = fused.to(DEVICE)(ids.to(DEVICE), use_cache=False).logits.cpu()
    torch.testing.assert_close(found, stock, atol=1e-4, rtol=1e-4)


def test_a_decoder_layer_adds_inside_its_second_norm(monkeypatch):
    """Every norm that follows an addition in its own layer is given both terms: one launch fewer."""
    from transformers import LlamaForCausalLM

    model = LlamaForCausalLM(_config("llama")).eval()
    fuse(model, force=True)
    added = []
    original = dispatch.pick

    def pick(name: str, device: torch.device) -> Any:
        run = original(name, device)

        def noted(*args: Any, **kwargs: Any) -> Any:
            if name == "rmsnorm":
                added.append(args[1] is not None)
            return run(*args, **kwargs)

        return noted

    monkeypatch.setattr(dispatch, "pick", pick)
    with torch.inference_mode():
        model(torch.zeros(1, 3, dtype=torch.long), use_cache=False)
    assert added == [False, True] * 2 + [False]


def test_only_cuda_is_changed_unless_forced():
    norm = _norm(NORMS[0])
    assert fuse(norm) == [] and "forward" not in vars(norm)
    assert fuse(norm, force=True) == [""]


def test_a_formula_that_is_not_the_class_s_would_be_noticed(monkeypatch):
    """The comparisons have teeth: Gemma's norm computed as Llama's, and the other activation."""
    monkeypatch.setattr(fused_modules, "FORMULAS", {NORMS[-1]: fused_modules.Norm(eps="eps")})
    with pytest.raises(AssertionError):
        _check(_norm(NORMS[-1]), torch.randn(1, 5, 32))
    gelu = {"transformers.activations.SiLUActivation": "gelu_tanh"}
    monkeypatch.setattr(fused_modules, "FORMULAS", FORMULAS)
    monkeypatch.setattr(fused_modules, "_ACTIVATIONS", gelu)
    with pytest.raises(AssertionError):
        _check(_mlp(MLPS[0]), torch.randn(1, 5, 32))


class _OwnNorm(LlamaRMSNorm):
    """A subclass may compute anything."""


def _with_more(module: nn.Module) -> nn.Module:
    module.register_parameter("bias", nn.Parameter(torch.zeros(32)))
    return module


def _with_forward(module: nn.Module) -> nn.Module:
    module.forward = nn.Identity().forward  # type: ignore[method-assign]
    return module


@pytest.mark.parametrize(
    "module",
    [
        _OwnNorm(32),
        nn.RMSNorm(32),
        _with_more(LlamaRMSNorm(32)),
        _with_forward(LlamaRMSNorm(32)),
        LlamaMLP(_config("llama", hidden_act="relu")),
        LlamaMLP(_config("llama", hidden_act="gelu")),
        Gemma2MLP(_config("gemma2", hidden_activation="gelu_python_tanh")),
    ],
    ids=["subclass", "torch", "more", "forward", "relu", "gelu", "python"],
)
def test_other_modules_are_left_alone(module):
    before = vars(module).get("forward")
    assert fuse(module, force=True) == []
    assert vars(module).get("forward") is before


def test_a_weight_of_another_dtype_than_the_rows_promotes_as_it_did():
    norm = _norm(NORMS[0])
    x = torch.randn(1, 5, 32).half()
    assert torch.equal(_run(_fused(norm), x), _run(norm, x)) and _run(norm, x).dtype == torch.float32


def test_hooks_stay_and_unfuse_gives_the_class_s_forward_back():
    norm = _norm(NORMS[0])
    seen: list[int] = []
    norm.register_forward_pre_hook(lambda module, args: seen.append(1))
    fuse(norm, force=True)
    assert fuse(norm, force=True) == []
    _run(norm, torch.randn(1, 2, 32))
    assert seen == [1]
    other = _with_forward(LlamaRMSNorm(32))
    both = nn.ModuleList([norm, other])
    unfuse(both)
    assert "forward" not in vars(norm) and "forward" in vars(other)


def test_a_layer_whose_second_norm_is_watched_keeps_its_own_sum():
    from transformers import LlamaForCausalLM

    model = LlamaForCausalLM(_config("llama"))
    model.model.layers[0].post_attention_layernorm.register_forward_hook(lambda *args: None)
    assert [name for name in fuse(model, force=True) if name.endswith(("layers.0", "layers.1"))] == ["model.layers.1"]
