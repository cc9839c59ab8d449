"""The one adapter to transformers' attention interface: registers our blockwise attention and its mask.

transformers looks an implementation up by name in two registries (attention functions, mask functions); both get
the name `draftscope`. The mask is built once per forward and per layer type from transformers' own mask function, so
causal, sliding-window and chunked layers need no code here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.modeling_utils import AttentionInterface

from kernels import attention as blockwise

NAME = "draftscope"

# Keywords a model may pass that do not change the result: masks already carry windows and causality, positions are
# already in q and k, dropout is off in eval.
_HARMLESS = frozenset(
    {
        "position_ids",
        "sliding_window",
        "is_causal",
        "use_cache",
        "output_attentions",
        "output_hidden_states",
        "output_router_logits",
        "cache_position",
        "logits_to_keep",
        "return_dict",
    }
)


def blockwise_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """transformers' attention signature over a `CacheSlot`'s rows.

    Args:
        query: [1, H, W, D]. key, value: as `SlotLayer.update` returns them. attention_mask: [1, 1, W, L] fp32 bias.
        softcap, s_aux: soft-cap of the scores; one sink logit per head.

    Raises:
        TypeError: a keyword that could change the result and is not known here.
    """
    require_known(module, kwargs, dropout)
    out = blockwise.reference(
        query[0],
        key,
        value,
        attention_mask[0, 0],
        scaling=query.shape[-1] ** -0.5 if scaling is None else scaling,
        softcap=softcap,
        sinks=s_aux,
    )
    return out.transpose(0, 1).unsqueeze(0), None


def require_known(module: nn.Module, kwargs: Mapping[str, Any], dropout: float) -> None:
    """Raise TypeError for a keyword that could change the result."""
    unknown = sorted(k for k, v in kwargs.items() if v is not None and k not in _HARMLESS)
    if unknown or dropout:
        raise TypeError(
            f"{type(module).__name__} passes {unknown or ['dropout']} to attention, which is not served exactly."
        )


def additive_mask(*args: Any, dtype: torch.dtype = torch.float32, **kwargs: Any) -> Tensor:
    """transformers' mask-function signature: 0 where a row may look, -inf elsewhere, fp32, never skipped."""
    kwargs["allow_is_causal_skip"] = False
    kwargs["allow_is_bidirectional_skip"] = False
    allowed = sdpa_mask(*args, **kwargs)
    assert allowed is not None
    bias = torch.zeros(allowed.shape, dtype=torch.float32, device=allowed.device)
    return bias.masked_fill_(~allowed, float("-inf"))


def register(attention: Callable[..., Any] = blockwise_attention) -> None:
    """Make `attn_implementation="draftscope"` known to transformers; `attention` may wrap ours, to count its calls."""
    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, additive_mask)
