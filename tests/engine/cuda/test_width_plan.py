"""The widths of a GPU: rounds that passed the probe, prefills that may not have, and a verdict that says which."""

from __future__ import annotations

import pytest
import torch

from engine.width import CUDA_LADDER, LADDER, exact_plan

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize("device", [CPU, GPU])
def test_prefills_that_all_passed_are_used_and_claimed(device):
    plan = exact_plan(device, (4, 8), LADDER)
    assert (plan.width, plan.prefill, plan.rounds, plan.exact) == (8, (4, 8, *LADDER), (4, 8), True)
    assert "rounds run at width 4 or 8, and no row's bits" in plan.verdict and "prompt" not in plan.verdict


def test_on_a_gpu_prefills_stay_wide_and_the_verdict_claims_less():
    plan = exact_plan(GPU, (8,), (16,))
    assert plan.prefill == (8, *CUDA_LADDER) and plan.rounds == (8,) and plan.exact
    assert "after the same prompt" in plan.verdict and "agree to rounding" in plan.verdict
    assert plan.prefill_width(300, 4096) == 512 and plan.round_width(5) == 8


def test_on_the_cpu_only_what_passed_is_used():
    assert exact_plan(CPU, (8,), (16, 64)).prefill == (8, 16, 64)


def test_a_round_wider_than_the_narrow_prefills_leaves_them_out():
    wide = exact_plan(GPU, (36,), ())
    assert wide.prefill == (36, 64, 128, 256, 512) and list(wide.prefill) == sorted(wide.prefill)
    assert exact_plan(GPU, (36,), (64, 128)).prefill == (36, 64, 128)
