"""The width probe: accepts what this device does right, refuses what it does wrong, and says so."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM

from engine import width as width_module
from engine.trunk import Trunk
from engine.width import WidthPlan, plan_widths


@pytest.fixture
def trunk(tiny_checkpoint):
    model = AutoModelForCausalLM.from_pretrained(tiny_checkpoint("llama"), attn_implementation="draftscope")
    return Trunk(model.eval())


def test_a_passing_device_gets_an_exact_plan_wide_enough_for_the_drafts(trunk):
    for most in (1, 3, 4, 7, 8):
        plan = plan_widths(trunk, most)
        assert plan.exact and plan.width >= most + 1 and plan.width % 4 == 0
        assert list(plan.prefill) == sorted(set(plan.prefill)) and plan.width in plan.prefill
        assert "bit-identical" in plan.verdict and trunk.head_widths[-1] == plan.width


def test_the_baseline_runs_at_width_one_and_claims_nothing(trunk):
    plan = plan_widths(trunk, 0)
    assert (plan.width, plan.exact) == (1, False) and "Baseline" in plan.verdict


class _ColumnDependent(nn.Linear):
    """A linear layer whose rows know their column, as a badly chosen matrix kernel's do."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = super().forward(x)
        return out + torch.arange(x.shape[-2], dtype=out.dtype).unsqueeze(-1) * 1e-6


def test_a_linear_layer_that_depends_on_the_column_is_caught(trunk):
    layer = trunk.decoder.layers[0].mlp
    layer.up_proj.__class__ = _ColumnDependent
    plan = plan_widths(trunk, 7)
    assert not plan.exact and "not claimed" in plan.verdict


def test_a_dependence_outside_linear_layers_is_caught_by_the_forward_probe(trunk):
    norm = trunk.decoder.layers[0].input_layernorm
    norm.register_forward_hook(lambda mod, args, out: out + out.mean(dim=-2, keepdim=True) * 1e-3)
    assert not plan_widths(trunk, 7).exact


def test_a_ladder_width_that_disagrees_is_left_out(trunk, monkeypatch):
    real = width_module._prefill_agrees
    monkeypatch.setattr(width_module, "_prefill_agrees", lambda t, w, rows: w != 32 and real(t, w, rows))
    assert plan_widths(trunk, 7).prefill == (4, 8, 16, 64, 128)


def test_a_round_width_whose_output_head_disagrees_is_left_out(trunk, monkeypatch):
    real = width_module._rounds_agree
    monkeypatch.setattr(width_module, "_rounds_agree", lambda t, w, rows: w != 4 and real(t, w, rows))
    assert plan_widths(trunk, 7).prefill == (8, 16, 32, 64, 128)
    assert trunk.head_widths == (8,)


class _WidthDependent(nn.Linear):
    """A linear layer that takes another path for narrow inputs."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = super().forward(x)
        return out + 1e-6 if x.shape[-2] <= 4 else out


def test_a_layer_that_is_different_when_narrow_leaves_one_round_width(trunk):
    trunk.decoder.layers[0].mlp.up_proj.__class__ = _WidthDependent
    plan = plan_widths(trunk, 7)
    assert plan.exact and plan.prefill[0] == 8
    trunk.model.get_output_embeddings().__class__ = _WidthDependent
    assert plan_widths(trunk, 7).prefill[0] == 8


def test_a_round_runs_at_the_narrowest_width_that_holds_it():
    plan = WidthPlan(8, (4, 8, 16), True, "")
    assert [plan.round_width(n) for n in range(1, 9)] == [4] * 4 + [8] * 4


def test_prefill_widths_fit_the_tokens_and_the_room():
    plan = WidthPlan(8, (8, 16, 64), True, "")
    assert [plan.prefill_width(n, 1000) for n in (1, 8, 9, 17, 64, 200)] == [8, 8, 16, 64, 64, 64]
    assert plan.prefill_width(60, 20) == 16
    assert plan.prefill_width(5, 8) == 8
