"""Which forward widths give every row the same bits, established on this device at load.

A matrix library picks its kernel by shape, so a row of a product may depend on how many rows share it. The engine
only uses widths at which it does not: W for rounds, narrower ones for rounds with few drafts, and a ladder of prefill
widths. Two probes decide.
`linear probe`: every distinct linear shape of the model, on random rows, at every width, at shifted columns.
`forward probe`: the whole model, rows prefilled at once against the same rows decided again in rounds.
Both compare bits. What fails is dropped; if nothing passes, the plan says that exactness is not claimed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from engine.packed_linear import PackedLinear
from engine.trunk import Trunk

Linear = nn.Linear | PackedLinear

LADDER = (16, 32, 64, 128)
"""Prefill widths tried besides W."""

CUDA_LADDER = (16, 32, 64, 128, 256, 512)
"""The same on a GPU where rows of wide forwards agree with those of rounds to rounding only."""

_DECODE_ONLY = (
    "Greedy text is bit-identical to plain decoding after the same prompt: {rounds}, and no row of a round depends on "
    "what shares its forward (probed on this device). Prompts are read in wider forwards, whose rows agree to "
    "rounding, so a session rebuilt after an eviction may differ at near-ties."
)

_ROWS = 32  # rows compared by the forward probe: several rounds at shifted columns, under a second on two cores


@dataclass(frozen=True)
class WidthPlan:
    """The widths an engine may use; `exact` is the probes' verdict."""

    width: int
    """W: the widest round."""
    prefill: tuple[int, ...]
    """Ascending; the first is the narrowest round."""
    exact: bool
    verdict: str

    @property
    def rounds(self) -> tuple[int, ...]:
        """Ascending: the widths that a round may have."""
        return tuple(w for w in self.prefill if w <= self.width)

    def round_width(self, columns: int) -> int:
        """The narrowest width of a round with `columns` tokens, at most W of them."""
        assert columns <= self.width
        return next(w for w in self.prefill if w >= columns)

    def prefill_width(self, tokens: int, room: int) -> int:
        """The smallest prefill width that holds `tokens`, or the largest that fits `room` columns.

        The result may be smaller than `tokens`: then only that many go into this chunk.
        """
        fitting = [w for w in self.prefill if w <= room]
        assert fitting, (room, self.prefill)
        return next((w for w in fitting if w >= tokens), fitting[-1])


def plan_widths(trunk: Trunk, max_draft_len: int) -> WidthPlan:
    """Probe the device and choose W >= max_draft_len + 1, the fastest that passes."""
    if max_draft_len == 0:
        trunk.head_widths = (1,)
        return WidthPlan(1, (1, *LADDER), False, "Baseline at width 1: plain decoding, nothing to prove.")
    shapes = _linear_shapes(trunk)
    first = -(-(max_draft_len + 1) // 4) * 4
    candidates = [first, first + 4, first + 8]
    passing = [w for w in candidates if all(_rows_stable(mod, w, w) for mod, _ in shapes)]
    for width in _fastest_first(shapes, passing):
        trunk.head_widths = (width,)
        rows = _decide_in_rounds(trunk, width)
        if rows is None or not _prefill_agrees(trunk, width, rows.hidden):
            continue
        narrow = [w for w in range(4, width, 4) if all(_rows_stable(mod, width, w) for mod, _ in shapes)]
        narrow = [w for w in narrow if _rounds_agree(trunk, w, rows)]
        ladder = [w for w in LADDER if w > width and all(_rows_stable(m, width, w) for m, head in shapes if not head)]
        ladder = [w for w in ladder if _prefill_agrees(trunk, w, rows.hidden)]
        trunk.head_widths = (*narrow, width)
        return exact_plan(trunk.device, (*narrow, width), ladder)
    trunk.head_widths = (first,)
    return WidthPlan(
        first,
        (first, *LADDER),
        False,
        "Exactness is not claimed: on this device a row's bits depend on what shares its forward, so greedy text may "
        "differ from plain decoding at near-ties.",
    )


def exact_plan(device: torch.device, rounds: tuple[int, ...], ladder: Sequence[int]) -> WidthPlan:
    """The plan of rounds that passed and of the wider prefills that did, in words.

    On a GPU prefills that did not pass are used all the same, because narrow ones would read the weights again for
    every few rows of a prompt; the verdict claims less then.
    """
    width, run = rounds[-1], f"rounds run at width {_either(rounds)}"
    if device.type == "cuda" and len(ladder) < sum(w > width for w in LADDER):
        wide = tuple(w for w in CUDA_LADDER if w > width)
        return WidthPlan(width, (*rounds, *wide), True, _DECODE_ONLY.format(rounds=run))
    return WidthPlan(
        width,
        (*rounds, *ladder),
        True,
        f"Greedy text is bit-identical to plain decoding: {run}, and no row's bits depend on what shares its forward "
        "(probed on this device).",
    )


def _either(widths: tuple[int, ...]) -> str:
    return " or ".join(str(w) for w in widths)


def _linear_shapes(trunk: Trunk) -> list[tuple[Linear, bool]]:
    """One module per distinct linear shape, and whether it is the output head (which only runs at W)."""
    head = trunk.model.get_output_embeddings()
    found: dict[tuple[int, int, bool], tuple[Linear, bool]] = {}
    for module in trunk.model.modules():
        if isinstance(module, Linear):
            key = (module.in_features, module.out_features, module.bias is not None)
            known = found.get(key)
            found[key] = (module, module is head and (known is None or known[1]))
    return list(found.values())


def _rows(module: Linear, count: int) -> Tensor:
    generator = torch.Generator().manual_seed(module.in_features)
    x = torch.randn(count, module.in_features, generator=generator)
    return x.to(*_place(module))


def _place(module: Linear) -> tuple[torch.device, torch.dtype]:
    if isinstance(module, PackedLinear):
        return torch.device("cpu"), module.dtype
    return module.weight.device, module.weight.dtype


@torch.inference_mode()
def _rows_stable(module: Linear, width: int, other: int) -> bool:
    """Whether rows at `width` equal the same rows at `other` and at shifted columns, bit for bit."""
    count = other + width
    x = _rows(module, count)
    base = torch.cat([module(x[i : i + width]) for i in range(0, count - width + 1, width)])
    for shift in (1, width - 1):
        y = module(x[shift : shift + other])
        span = min(len(base) - shift, other)
        if not torch.equal(y[:span], base[shift : shift + span]):
            return False
    return True


@torch.inference_mode()
def _fastest_first(shapes: list[tuple[Linear, bool]], widths: list[int]) -> list[int]:
    """The widths by the time of one product of each shape; a wider one must win by a quarter, not by noise."""
    best = dict.fromkeys(widths, float("inf"))
    for _ in range(5):  # interleaved, so that a busy moment does not fall on one width
        for width in widths:
            total = 0.0
            for module, _ in shapes:
                x = _rows(module, width)
                start = time.perf_counter()
                module(x)
                if x.is_cuda:
                    torch.cuda.synchronize(x.device)
                total += time.perf_counter() - start
            best[width] = min(best[width], total)
    floor = min(best.values(), default=0.0)
    return sorted(widths, key=lambda w: (best[w] > 1.25 * floor, w))


def _probe_tokens(trunk: Trunk, count: int) -> list[int]:
    generator = torch.Generator().manual_seed(0)
    return [int(t) for t in torch.randint(0, trunk.vocab_rows, (count,), generator=generator)]


@dataclass(frozen=True)
class _Decided:
    """What rounds decided: hidden [_ROWS, H] and logits [_ROWS, V]."""

    hidden: Tensor
    logits: Tensor


def _decide_in_rounds(trunk: Trunk, width: int) -> _Decided | None:
    """Rows decided in rounds at `width`, or None if one depends on its column.

    Rounds advance by 1, 3, 5, 7, 2, 4, ... tokens, so rows are computed at several columns; each time the hidden and
    the logits must be the same bits.
    """
    tokens = _probe_tokens(trunk, _ROWS)
    slot = trunk.new_slot(_ROWS + width)
    hidden: dict[int, Tensor] = {}
    logits: dict[int, Tensor] = {}
    at, step = 0, 1
    while at < _ROWS:
        chunk = tokens[at : at + width]
        slot.truncate(at)
        out = trunk.forward(slot, at, chunk, width, keep=range(len(chunk)))
        for column in range(len(chunk)):
            if not torch.equal(hidden.setdefault(at + column, out.hidden[column]), out.hidden[column]):
                return None
            if not torch.equal(logits.setdefault(at + column, out.logits[column]), out.logits[column]):
                return None
        slot.truncate(at + len(chunk))
        at, step = at + step, (step + 2) % width or 2
    return _Decided(*(torch.stack([rows[i] for i in range(_ROWS)]) for rows in (hidden, logits)))


def _rounds_agree(trunk: Trunk, width: int, rows: _Decided) -> bool:
    """Whether rounds at another width decide the same bits, output head included."""
    before, trunk.head_widths = trunk.head_widths, (width,)
    try:
        other = _decide_in_rounds(trunk, width)
    finally:
        trunk.head_widths = before
    same = other is not None and torch.equal(other.hidden, rows.hidden) and torch.equal(other.logits, rows.logits)
    return same and _prefill_agrees(trunk, width, rows.hidden)


def _prefill_agrees(trunk: Trunk, width: int, rows: Tensor) -> bool:
    """Whether prefilling at `width` writes the rows that rounds decided."""
    tokens = _probe_tokens(trunk, _ROWS)
    tokens += tokens[: max(0, width - _ROWS)] + tokens * (width // _ROWS)
    slot = trunk.new_slot(len(tokens) + width)
    hidden = []
    for at in range(0, _ROWS, width):
        hidden.append(trunk.forward(slot, at, tokens[at : at + width], width).hidden)
        slot.truncate(at + width)
    return torch.equal(torch.cat(hidden)[:_ROWS], rows)
