"""The table of operations and the rule that picks a form."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch

from kernels import dispatch
from kernels.dispatch import OPS, force, form, has_triton, pick

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)
ROOT = Path(__file__).parents[2]


def _both(name: str) -> tuple[inspect.Signature, inspect.Signature]:
    op = OPS[name]
    reference = getattr(import_module(f"kernels.{op.module}"), op.reference)
    return inspect.signature(reference), inspect.signature(
        getattr(import_module(f"kernels.triton.{op.module}"), op.fused)
    )


@pytest.mark.parametrize("name", OPS)
def test_both_forms_of_every_operation_have_one_signature(name):
    pytest.importorskip("triton", reason="Triton has no package for this platform")
    reference, fused = _both(name)
    assert [(p.name, p.default, p.kind) for p in reference.parameters.values()] == [
        (p.name, p.default, p.kind) for p in fused.parameters.values()
    ]


def test_the_reference_runs_on_the_cpu_and_triton_on_cuda(monkeypatch):
    from kernels import rmsnorm

    pytest.importorskip("triton", reason="Triton has no package for this platform")
    from kernels.triton import rmsnorm as triton_rmsnorm

    assert pick("rmsnorm", CPU) is rmsnorm.reference
    assert pick("rmsnorm", CUDA) is triton_rmsnorm.fused
    monkeypatch.setattr(dispatch, "has_triton", lambda: False)
    assert pick("rmsnorm", CUDA) is rmsnorm.reference


@pytest.mark.parametrize("device", [CPU, CUDA], ids=str)
def test_a_form_can_be_forced_and_the_rule_returns_even_after_an_error(device):
    usual = form(device)
    with force("reference"):
        assert form(device) == "reference"
        with force("fused"):
            assert form(device) == "fused"
        assert form(device) == "reference"
    with pytest.raises(KeyError), force("fused"):
        raise KeyError
    assert form(device) == usual


def test_an_unknown_operation_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"No operation is called 'conv'; choose one of attention, rmsnorm"):
        pick("conv", CPU)


@pytest.mark.parametrize("error", [ImportError, OSError, RuntimeError])
def test_a_triton_that_cannot_be_imported_counts_as_none(monkeypatch, error):
    def broken(name: str) -> None:
        raise error(name)

    has_triton.cache_clear()
    monkeypatch.setattr(dispatch, "find_spec", lambda name: object())
    monkeypatch.setattr(dispatch, "import_module", broken)
    try:
        assert not has_triton() and form(CUDA) == "reference"
        has_triton.cache_clear()
        monkeypatch.setattr(dispatch, "find_spec", lambda name: None)
        assert not has_triton()
    finally:
        has_triton.cache_clear()


def test_every_reference_is_picked_without_importing_triton():
    program = (
        "import sys, torch; from kernels.dispatch import OPS, pick;"
        "[pick(name, torch.device('cpu')) for name in OPS]; sys.exit('triton' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=120, check=False).returncode == 0
