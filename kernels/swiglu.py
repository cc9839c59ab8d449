"""The gated half of a feed-forward layer.

    out = act(gate) * up
    act(x) = x * sigmoid(x)                                           "silu" (SwiGLU)
    act(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))    "gelu_tanh" (GeGLU)

`act` is computed in fp32 and rounded to the dtype of the input, then multiplied and rounded again, as two separate
modules would. NaN goes through. Source: Shazeer 2020, section 2; the tanh form: Hendrycks & Gimpel 2016, section 2.
"""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor

Activation = Literal["silu", "gelu_tanh"]


def reference(gate: Tensor, up: Tensor | None = None, *, activation: Activation = "silu") -> Tensor:
    """act(gate) * up.

    Args:
        gate: [..., I], or [..., 2 I] with the gate first when `up` is None.
        up: [..., I], or None.
        activation: which act.

    Returns:
        [..., I] in the dtype of `gate`.
    """
    if up is None:
        gate, up = gate.chunk(2, dim=-1)
    acted = F.silu(gate) if activation == "silu" else F.gelu(gate, approximate="tanh")
    return acted * up
