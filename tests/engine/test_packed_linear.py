"""Packed linear layers: the stock module's results, one set of bits for a row, and no second copy in memory."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from engine import load_engine
from engine.mapped_pages import MappedFiles
from engine.packed_linear import PackedLinear, can_pack, pack_linears

SHAPES = [(48, 48), (97, 33), (331, 64), (4, 48), (576, 1536), (1536, 576)]


def _linear(out: int, features: int, dtype: torch.dtype, bias: bool) -> nn.Linear:
    torch.manual_seed(out)
    return nn.Linear(features, out, bias=bias).to(dtype).requires_grad_(False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("out", "features"), SHAPES)
def test_agrees_with_the_stock_module(out, features, dtype, bias):
    linear = _linear(out, features, dtype, bias)
    x = torch.randn(1, 8, features).to(dtype)
    packed = PackedLinear(linear)
    got = packed(x)
    assert got.shape == (1, 8, out) and got.dtype == dtype
    expected = nn.functional.linear(x.double(), linear.weight.double(), linear.bias.double() if bias else None)
    torch.testing.assert_close(got.double(), expected, atol=1e-5 if dtype == torch.float32 else 3e-2, rtol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("out", "features"), SHAPES)
def test_a_row_keeps_its_bits_at_the_widths_in_use(out, features, dtype):
    packed = PackedLinear(_linear(out, features, dtype, True))
    x = torch.randn(136, features).to(dtype)
    rows = torch.cat([packed(x[i : i + 8]) for i in range(0, 136, 8)])
    for width in (4, 8, 12, 16, 32, 64, 128):
        for shift in (0, 1, 5):
            assert torch.equal(packed(x[shift : shift + width]), rows[shift : shift + width]), (width, shift)


def test_packs_plain_cpu_layers_and_leaves_the_rest():
    class Special(nn.Linear):
        """A subclass may compute something else."""

    hooked = _linear(8, 8, torch.float32, True)
    hooked.register_forward_hook(lambda mod, args, out: out)
    model = nn.ModuleDict(
        {
            "plain": _linear(8, 8, torch.float32, True),
            "inner": nn.Sequential(_linear(8, 4, torch.bfloat16, False)),
            "fp16": _linear(8, 8, torch.float16, True),
            "special": Special(8, 8),
            "hooked": hooked,
        }
    )
    assert pack_linears(model) == 2
    assert isinstance(model["plain"], PackedLinear) and isinstance(model["inner"][0], PackedLinear)
    assert [type(model[n]) for n in ("fp16", "special", "hooked")] == [nn.Linear, Special, nn.Linear]
    assert not any(can_pack(model[n]) for n in ("fp16", "special", "hooked"))


def test_an_engine_packs_and_keeps_a_tied_embedding(tiny_checkpoint):
    path = str(tiny_checkpoint("gemma"))
    packed, stock = load_engine(path, max_ctx=64), load_engine(path, max_ctx=64, pack=False)
    count = sum(isinstance(m, PackedLinear) for m in packed.trunk.model.modules())
    assert count == sum(isinstance(m, nn.Linear) for m in stock.trunk.model.modules()) > 0
    assert packed.exact and stock.exact
    table = packed.trunk.model.get_input_embeddings().weight
    assert torch.equal(table, stock.trunk.model.get_input_embeddings().weight)
    packed.close()
    stock.close()


def test_pages_of_a_mapped_file_are_given_back_and_come_again(tmp_path):
    import psutil

    torch.manual_seed(0)
    expected = torch.randn(4096, 2048)  # 32 MB
    save_file({"a": expected, "b": torch.ones(8)}, tmp_path / "w.safetensors")
    mapped = load_file(tmp_path / "w.safetensors")
    assert torch.equal(mapped["a"], expected)
    before, files = psutil.Process().memory_info().rss, MappedFiles()
    assert files.let_go(mapped["a"]) > 31e6
    assert before - psutil.Process().memory_info().rss > 25e6
    assert torch.equal(mapped["a"], expected)
    assert files.let_go(torch.zeros(1 << 20)) == 0, "memory of our own is never touched"
