"""Root-mean-square norm of the sum of a row and its residual.

    r = x + residual                                   (or x), in the dtype of x
    y = r / sqrt(mean_n(r_n^2) + eps)                  in fp32
    out = weight * round(y)                            `round_first`: Llama, Qwen, Mistral
    out = round((offset + weight) * y)                 otherwise: Gemma (offset 1), OLMo 2 (offset 0)

`round` is to the dtype of x. A row's result depends on that row alone. A NaN or an infinity in a row makes NaN there
and nowhere else. Source: Zhang & Sennrich 2019, section 4; the two roundings are those of transformers' modules.
"""

from __future__ import annotations

import torch
from torch import Tensor


def reference(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    eps: float,
    offset: float = 0.0,
    *,
    round_first: bool = True,
) -> tuple[Tensor, Tensor]:
    """The norm of `x + residual`, and that sum, which is the next residual.

    Args:
        x: [..., N]. residual: the same shape and dtype, or None. weight: [N], the dtype of x.
        eps: added to the mean square. offset: added to the weight; only where `round_first` is False.
        round_first: round the normed row to the dtype of x before the weight, not after it.

    Returns:
        ([..., N], [..., N]) in the dtype of x; the second is x itself where there is no residual.
    """
    assert not (round_first and offset), "the weight's offset belongs to the form that multiplies in fp32"
    summed = x if residual is None else x + residual
    wide = summed.float()
    normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    if round_first:
        return weight * normed.to(x.dtype), summed
    return (normed * (offset + weight.float())).to(x.dtype), summed
