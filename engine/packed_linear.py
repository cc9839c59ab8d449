"""Linear layers whose weight is packed once for oneDNN: on the CPU, the narrow products of a round run at memory speed.

    y = x W^T + b          x [.., in], W [out, in] packed, b [out] or None

A stock `nn.Linear` hands W as stored to a general matrix product, which at 4 to 16 rows reaches a third of the speed
and picks kernels by the number of rows. Packing is what torch's own inductor does to frozen weights, through the same
two operators. Whether rows then keep their bits at every width is for `engine.width` to find, as for any layer.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.mapped_pages import MappedFiles

ROWS_HINT = 8
"""Rows the packed layout is chosen for; results do not depend on it."""


class PackedLinear(nn.Module):
    """Takes the place of one `nn.Linear`; the unpacked weight is let go."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.dtype = linear.weight.dtype
        self.bias = linear.bias
        self._packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), ROWS_HINT)

    def forward(self, x: Tensor) -> Tensor:
        """[.., in] -> [.., out]."""
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")
        return out


def can_pack(linear: nn.Linear) -> bool:
    """Whether torch and the layer allow it: the operators exist; a plain weight on the CPU, fp32 or bf16."""
    weight = linear.weight
    return (
        type(linear) is nn.Linear
        and weight.device.type == "cpu"
        and weight.dtype in (torch.float32, torch.bfloat16)
        and torch._C._has_mkldnn
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and not linear._forward_hooks
        and not linear._forward_pre_hooks
    )


@torch.inference_mode()
def pack_linears(model: nn.Module) -> int:
    """Replace every linear layer of `model` that can be packed; returns how many were."""
    found = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if isinstance(child, nn.Linear) and can_pack(child)
    ]
    packed = {id(child) for _, _, child in found}
    # a tied embedding is still read
    kept = {p.data_ptr() for m in model.modules() if id(m) not in packed for p in m.parameters(recurse=False)}
    files = MappedFiles()
    for parent, name, child in found:
        setattr(parent, name, PackedLinear(child))
        if child.weight.data_ptr() not in kept:
            files.let_go(child.weight)  # at once, so that the two copies of all weights never stand side by side
    return len(found)
