"""Stock modules of transformers whose formula is known, run by `kernels.dispatch`: norms, gated layers, decoder layers.

`fuse` gives a module another `forward` and nothing else: its class, parameters, name and hooks stay as they are. A
decoder layer hands its first sum to the second norm, which adds as it reads. For inference only: no gradients.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType, MethodType
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from kernels import dispatch

_ACTIVATIONS = MappingProxyType(
    {
        "transformers.activations.SiLUActivation": "silu",
        "torch.nn.modules.activation.SiLU": "silu",
        "transformers.activations.GELUTanh": "gelu_tanh",
    }
)


class Formula(Protocol):
    """What a class computes: whether one of its modules is as we know it, and the forward that replaces its own."""

    def fits(self, module: Any) -> bool:
        """Whether `module`, of a class in the table, has the parts of the formula and no others."""

    @property
    def forward(self) -> Callable[..., Any]:
        """The new forward, its first argument the module."""


@dataclass(frozen=True)
class Norm:
    """`kernels.rmsnorm` of the module's own weight."""

    eps: str = "variance_epsilon"
    """The attribute that holds it."""
    offset: float = 0.0
    round_first: bool = True

    def fits(self, module: Any) -> bool:
        """Only a weight of one dimension, and a number for eps."""
        return (
            _parts(module) == {"weight"} and module.weight.dim() == 1 and isinstance(getattr(module, self.eps), float)
        )

    def normed(self, module: Any, x: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
        """The norm of `x + residual`, and that sum. A weight of another dtype than x promotes: the stock module's."""
        if x.dtype != module.weight.dtype:
            summed = x if residual is None else x + residual
            return type(module).forward(module, summed), summed
        rmsnorm = dispatch.pick("rmsnorm", x.device)
        eps = getattr(module, self.eps)
        normed, summed = rmsnorm(x, residual, module.weight, eps, self.offset, round_first=self.round_first)
        return normed, summed

    @property
    def forward(self) -> Callable[..., Any]:
        """[..., N] -> [..., N]."""

        def norm(module: Any, hidden_states: Tensor) -> Tensor:
            return self.normed(module, hidden_states, None)[0]

        return norm


@dataclass(frozen=True)
class Gated:
    """down(act(gate(x)) * up(x)), from two projections or from one of both with the gate first."""

    projections: tuple[str, ...] = ("gate_proj", "up_proj")
    activation: str = "act_fn"

    def fits(self, module: Any) -> bool:
        """Only the projections, and an activation that the kernel has."""
        if _parts(module) - {self.activation} != {*self.projections, "down_proj"}:
            return False
        act = getattr(module, self.activation)
        # the slow spelling of the same activation rounds otherwise
        python = getattr(getattr(act, "act", None), "__name__", "") == "_gelu_tanh_python"
        return _qualified(act) in _ACTIVATIONS and not python

    @property
    def forward(self) -> Callable[..., Any]:
        """[..., N] -> [..., N]."""

        def gated(module: Any, x: Tensor) -> Tensor:
            parts = [getattr(module, name)(x) for name in self.projections]
            activation = _ACTIVATIONS[_qualified(getattr(module, self.activation))]
            out: Tensor = module.down_proj(dispatch.pick("swiglu", x.device)(*parts, activation=activation))
            return out

        return gated


@dataclass(frozen=True)
class Layer:
    """x + attention(norm(x)), then the same of the gated layer; the first sum is taken inside the second norm."""

    norm: Norm = Norm()

    def fits(self, module: Any) -> bool:
        """Only the four parts, the second norm of a class in the table."""
        parts = {"self_attn", "mlp", "input_layernorm", "post_attention_layernorm"}
        if _parts(module) != parts or module.post_attention_layernorm._forward_hooks:
            return False
        return self.norm == _formula(module.post_attention_layernorm) and self.norm.fits(
            module.post_attention_layernorm
        )

    @property
    def forward(self) -> Callable[..., Any]:
        """[1, W, N] -> [1, W, N]; keywords go to the attention."""

        def layer(module: Any, hidden_states: Tensor, **kwargs: Any) -> Tensor:
            attended, _ = module.self_attn(hidden_states=module.input_layernorm(hidden_states), **kwargs)
            normed, summed = self.norm.normed(module.post_attention_layernorm, attended, hidden_states)
            out: Tensor = summed + module.mlp(normed)
            return out

        return layer


_GEMMA = Norm(eps="eps", offset=1.0, round_first=False)
_PACKED = Gated(projections=("gate_up_proj",), activation="activation_fn")
_FAMILIES: tuple[tuple[str, str, Norm, Gated, Layer | None], ...] = (
    ("llama", "Llama", Norm(), Gated(), Layer()),
    ("mistral", "Mistral", Norm(), Gated(), Layer()),
    ("qwen2", "Qwen2", Norm(), Gated(), Layer()),
    ("qwen3", "Qwen3", Norm(), Gated(), Layer()),
    ("smollm3", "SmolLM3", Norm(), Gated(), Layer()),
    ("phi3", "Phi3", Norm(), _PACKED, None),
    ("olmo2", "Olmo2", Norm(round_first=False), Gated(), None),
    ("gemma", "Gemma", _GEMMA, Gated(), Layer(_GEMMA)),
    ("gemma2", "Gemma2", _GEMMA, Gated(), None),
    ("gemma3", "Gemma3", _GEMMA, Gated(), None),
)
FORMULAS = MappingProxyType(
    {
        (f"transformers.models.{folder}.modeling_{folder}", f"{family}{suffix}"): formula
        for folder, family, norm, gated, layer in _FAMILIES
        for suffix, formula in (("RMSNorm", norm), ("MLP", gated), ("DecoderLayer", layer))
        if formula is not None
    }
)
"""(module, class) -> formula: by name, so that no model file is imported for the table."""


def fuse(model: nn.Module, *, force: bool = False) -> list[str]:
    """Run the model's known modules by the kernels, where they run as kernels: on CUDA with Triton.

    Args:
        model: changed in place. Modules of other classes, subclasses included, or with parts that the formula does
            not have, keep their forward, as do those that were given one already.
        force: whatever the device, in the form that `kernels.dispatch` picks there.

    Returns:
        Names of the modules changed, in the model's order.
    """
    changed = []
    for name, module in model.named_modules():
        formula = _formula(module)
        if formula is None or "forward" in vars(module) or not formula.fits(module):
            continue
        if force or dispatch.form(_device(module)) == "fused":
            module.forward = MethodType(formula.forward, module)
            changed.append(name)
    return changed


def unfuse(model: nn.Module) -> None:
    """Give every module that `fuse` changed the forward of its class again."""
    for module in model.modules():
        if getattr(vars(module).get("forward"), "__module__", None) == __name__:
            del module.forward


def _formula(module: nn.Module) -> Formula | None:
    """The formula of exactly this module's class."""
    cls = type(module)
    if getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is not cls:
        return None
    return FORMULAS.get((cls.__module__, cls.__qualname__))


def _parts(module: nn.Module) -> set[str]:
    """Names of a module's own children, parameters and buffers."""
    return {*module._modules, *module._parameters, *module._buffers}


def _qualified(module: object) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"


def _device(module: nn.Module) -> torch.device:
    return next(module.parameters()).device
