"""Attention layers of known classes with two kernels: rotary with the write of the rows, and attention over the pool.

    q, k, v = x Wq, x Wk, x Wv            (q and k normed per head where the class does)
    q       = rotary(q, k, v) at `place`, rotated keys and values going into the pool
    y       = attention(q, pool at `place`) Wo

A layer of another class keeps its own forward, and reaches the pool through `pool_attention`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import torch
from torch import Tensor, nn

from engine.cuda.pool_cache import PoolCache
from kernels.dispatch import pick


@dataclass(frozen=True)
class Kind:
    """What sets a class apart from Llama's."""

    window: Literal["none", "layer", "config"] = "none"
    """Who knows the keys that a row sees."""
    softcap: str = ""
    """The layer's attribute that holds it."""
    normed: bool = False
    """Norms per head on q and k."""
    packed: bool = False
    """One projection for q, k and v."""


KINDS = MappingProxyType(
    {
        "transformers.models.llama.modeling_llama.LlamaAttention": Kind(),
        "transformers.models.mistral.modeling_mistral.MistralAttention": Kind(window="config"),
        "transformers.models.qwen2.modeling_qwen2.Qwen2Attention": Kind(window="layer"),
        "transformers.models.qwen3.modeling_qwen3.Qwen3Attention": Kind(window="layer", normed=True),
        "transformers.models.gemma.modeling_gemma.GemmaAttention": Kind(),
        "transformers.models.gemma2.modeling_gemma2.Gemma2Attention": Kind(
            window="layer", softcap="attn_logit_softcapping"
        ),
        "transformers.models.phi3.modeling_phi3.Phi3Attention": Kind(window="config", packed=True),
    }
)
"""By qualified name, so that no model file is imported for the table."""


class FusedAttention(nn.Module):
    """Takes the place of one attention layer; with any other cache than the pool's, it is that layer."""

    def __init__(self, inner: Any, kind: Kind) -> None:
        super().__init__()
        self.inner = inner
        self.kind = kind
        holder = {"none": None, "layer": inner, "config": inner.config}[kind.window]
        self.window: int | None = getattr(holder, "sliding_window", None)
        self.softcap: float | None = getattr(inner, kind.softcap) if kind.softcap else None
        self.scaling = float(inner.scaling)
        self.joined: nn.Linear | None = None
        """One product for q, k and v, where `join` has been called."""

    @torch.inference_mode()
    def join(self) -> None:
        """Put the weights of q, k and v side by side, so that one product reads them; the layer's own become views.

        A GPU takes longer to start three small products than to compute them.
        """
        inner = self.inner
        linears = [] if self.joined is not None or self.kind.packed else [inner.q_proj, inner.k_proj, inner.v_proj]
        if not linears or any(type(linear) is not nn.Linear for linear in linears):
            return
        sizes = [linear.out_features for linear in linears]
        joined = nn.Linear(inner.q_proj.in_features, sum(sizes), bias=inner.q_proj.bias is not None, device="meta")
        for name in [name for name, _ in joined.named_parameters()]:
            whole, at = torch.cat([getattr(linear, name) for linear in linears]), 0
            setattr(joined, name, nn.Parameter(whole, requires_grad=False))
            for linear, size in zip(linears, sizes, strict=True):
                getattr(linear, name).data = whole[at : at + size]
                at += size
        self.joined = joined

    def forward(self, hidden_states: Tensor, **kwargs: Any) -> tuple[Tensor, Any]:
        """[1, W, H] -> [1, W, H], as the layer's own signature."""
        cache = kwargs.get("cache")
        if not isinstance(cache, PoolCache):
            out: tuple[Tensor, Any] = self.inner(hidden_states, **kwargs)
            return out
        layer = cache.pool_layers[self.inner.layer_idx]
        cos, sin = kwargs["position_embeddings"]
        query, key, value = self._project(hidden_states)
        device, place = query.device, cache.place
        query = pick("rotary", device)(
            query, key, value, cos[0], sin[0], layer.keys, layer.values, place.slot, place.start
        )
        attended = pick("attention", device)(
            query, layer.keys, layer.values, *place, scaling=self.scaling, window=self.window, softcap=self.softcap
        )
        return self.inner.o_proj(attended.transpose(0, 1).reshape(*hidden_states.shape[:2], -1)), None

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q [H, W, D], k and v [KVH, W, D]."""
        inner, heads = self.inner, (*x.shape[:2], -1, self.inner.head_dim)
        together = inner.qkv_proj if self.kind.packed else self.joined
        if together is not None:
            size = inner.config.num_attention_heads * inner.head_dim
            rest = inner.config.num_key_value_heads * inner.head_dim
            query, key, value = (part.view(heads) for part in together(x).split([size, rest, rest], dim=-1))
        else:
            query, key, value = (linear(x).view(heads) for linear in (inner.q_proj, inner.k_proj, inner.v_proj))
        if self.kind.normed:
            query, key = inner.q_norm(query), inner.k_norm(key)
        return query[0].transpose(0, 1), key[0].transpose(0, 1), value[0].transpose(0, 1)


def fuse_attention(model: nn.Module) -> list[FusedAttention]:
    """Replace every attention layer of a known class; returns the new ones, in order of the model's layers.

    Those of a model that another engine runs already are found as they are.
    """
    found = []
    for parent in list(model.modules()):
        for name, child in [] if isinstance(parent, FusedAttention) else list(parent.named_children()):
            if isinstance(child, FusedAttention):
                found.append(child)
            kind = KINDS.get(f"{type(child).__module__}.{type(child).__qualname__}")
            if kind is not None:
                found.append(FusedAttention(child, kind))
                setattr(parent, name, found[-1])
    return found


def unfuse_attention(model: nn.Module) -> None:
    """Put the layers back as they were."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, FusedAttention):
                setattr(parent, name, child.inner)
