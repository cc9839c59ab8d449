"""transformers' attention interface over the pool, for any model: name `draftscope_pool`.

No mask function is registered under this name, so transformers builds none: a row sees its slot's rows up to its own
position, within the layer's window. `engine.cuda.fit` finds out at load whether that is what the model means.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers.modeling_utils import AttentionInterface

from engine.attention import require_known
from engine.cuda.pool_cache import Place
from kernels.dispatch import pick

NAME = "draftscope_pool"
PLACE = "draftscope_place"
"""The keyword that carries the `Place` of a forward through the model."""


def pool_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    sliding_window: int | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """transformers' attention signature.

    Args:
        query: [1, H, W, D]. key, value: the pools, as `PoolLayer.update` returns them.
        softcap, s_aux, sliding_window: of the scores; one sink logit per head; keys a row sees.

    Raises:
        TypeError: the model does not hand `draftscope_place` through, or passes a keyword or a mask that could change
            the result and is not known here.
    """
    place = kwargs.pop(PLACE, None)
    if not isinstance(place, Place):
        raise TypeError(f"{type(module).__name__} does not hand keywords through to attention.")
    require_known(module, kwargs | ({} if attention_mask is None else {"attention_mask": attention_mask}), dropout)
    out = pick("attention", query.device)(
        query[0],
        key,
        value,
        *place,
        scaling=query.shape[-1] ** -0.5 if scaling is None else scaling,
        window=sliding_window,
        softcap=softcap,
        sinks=s_aux,
    )
    return out.transpose(0, 1).unsqueeze(0), None


def register() -> None:
    """Make `attn_implementation="draftscope_pool"` known to transformers."""
    AttentionInterface.register(NAME, pool_attention)


register()
