"""Pairs of checkpoint and drafter that this app serves well: published facts, from 0.1 to 8 billion parameters.

Every model here keeps nothing but keys and values, so its session can be rewound exactly; `tests/playground` builds
each from its published geometry and compares the numbers. A draft model is named where it has the same tokenizer and
at most a fifth of the parameters: a larger one costs more than it saves. Elsewhere n-gram lookup needs no memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from playground.models.size import Size

NGRAM = "ngram"
SMALL_SHARE = 0.2
"""Of the trunk's parameters: what a suggested draft model has at most."""
APACHE = "Apache-2.0"
LLAMA = "Llama 3.2 Community License"


@dataclass(frozen=True)
class Entry:
    """One checkpoint and the drafter suggested for it. `key` is what `--models` takes."""

    key: str
    reference: str
    label: str
    family: str
    """Models of one family have one tokenizer."""
    size: Size
    licence: str
    drafter: str = NGRAM
    gated: bool = False
    """Whether its page on the Hub asks for a login and a consent before it can be fetched."""

    @property
    def draft_reference(self) -> str | None:
        """The draft model's own reference; None for a drafter without one."""
        kind, colon, reference = self.drafter.partition(":")
        return reference if colon and kind == "model" else None


def _size(params: int, layers: int, kv_heads: int, head_dim: int, context: int) -> Size:
    return Size(params, 2 * layers * kv_heads * head_dim, context)


_SMOL = "HuggingFaceTB/SmolLM2-"
_SMALL_SMOL, _SMALL_QWEN2, _SMALL_QWEN3 = f"{_SMOL}135M-Instruct", "Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen3-0.6B"
_SMALL_LLAMA = "meta-llama/Llama-3.2-1B-Instruct"
_QWEN_RESEARCH = "Qwen Research (no commercial use)"

_SMOLLM2_135M = _size(134_515_008, 30, 3, 64, 8192)
SMOLLM2_135M = Entry(
    "smollm2-135m",
    _SMALL_SMOL,
    "SmolLM2 135M",
    "smollm2",
    _SMOLLM2_135M,
    APACHE,
)
"""The default checkpoint's original: not offered beside it, but a draft model for the larger ones."""

ENTRIES = (
    Entry("default", "default", "SmolLM2 135M", "smollm2", _SMOLLM2_135M, APACHE),
    Entry(
        "smollm2-360m",
        f"{_SMOL}360M-Instruct",
        "SmolLM2 360M",
        "smollm2",
        _size(361_821_120, 32, 5, 64, 8192),
        APACHE,
    ),
    Entry(
        "smollm2-1.7b",
        f"{_SMOL}1.7B-Instruct",
        "SmolLM2 1.7B",
        "smollm2",
        _size(1_711_376_384, 24, 32, 64, 8192),
        APACHE,
        f"model:{_SMALL_SMOL}",
    ),
    Entry("qwen2.5-0.5b", _SMALL_QWEN2, "Qwen2.5 0.5B", "qwen2.5", _size(494_032_768, 24, 2, 64, 32_768), APACHE),
    Entry(
        "qwen2.5-1.5b",
        "Qwen/Qwen2.5-1.5B-Instruct",
        "Qwen2.5 1.5B",
        "qwen2.5",
        _size(1_543_714_304, 28, 2, 128, 32_768),
        APACHE,
    ),
    Entry(
        "qwen2.5-3b",
        "Qwen/Qwen2.5-3B-Instruct",
        "Qwen2.5 3B",
        "qwen2.5",
        _size(3_085_938_688, 36, 2, 128, 32_768),
        _QWEN_RESEARCH,
        f"model:{_SMALL_QWEN2}",
    ),
    Entry(
        "qwen2.5-7b",
        "Qwen/Qwen2.5-7B-Instruct",
        "Qwen2.5 7B",
        "qwen2.5",
        _size(7_615_616_512, 28, 4, 128, 32_768),
        APACHE,
        f"model:{_SMALL_QWEN2}",
    ),
    Entry("qwen3-0.6b", _SMALL_QWEN3, "Qwen3 0.6B", "qwen3", _size(596_049_920, 28, 8, 128, 40_960), APACHE),
    Entry("qwen3-1.7b", "Qwen/Qwen3-1.7B", "Qwen3 1.7B", "qwen3", _size(1_720_574_976, 28, 8, 128, 40_960), APACHE),
    Entry(
        "qwen3-4b",
        "Qwen/Qwen3-4B",
        "Qwen3 4B",
        "qwen3",
        _size(4_022_468_096, 36, 8, 128, 40_960),
        APACHE,
        f"model:{_SMALL_QWEN3}",
    ),
    Entry(
        "qwen3-8b",
        "Qwen/Qwen3-8B",
        "Qwen3 8B",
        "qwen3",
        _size(8_190_735_360, 36, 8, 128, 40_960),
        APACHE,
        f"model:{_SMALL_QWEN3}",
    ),
    Entry(
        "llama-3.2-1b",
        _SMALL_LLAMA,
        "Llama 3.2 1B",
        "llama3",
        _size(1_235_814_400, 16, 8, 64, 131_072),
        LLAMA,
        gated=True,
    ),
    Entry(
        "llama-3.2-3b",
        "meta-llama/Llama-3.2-3B-Instruct",
        "Llama 3.2 3B",
        "llama3",
        _size(3_212_749_824, 28, 8, 128, 131_072),
        LLAMA,
        gated=True,
    ),
    Entry(
        "llama-3.1-8b",
        "meta-llama/Llama-3.1-8B-Instruct",
        "Llama 3.1 8B",
        "llama3",
        _size(8_030_261_248, 32, 8, 128, 131_072),
        "Llama 3.1 Community License",
        f"model:{_SMALL_LLAMA}",
        gated=True,
    ),
)
BY_REFERENCE = MappingProxyType({entry.reference: entry for entry in (*ENTRIES, SMOLLM2_135M)})


def entry_of(reference: str) -> Entry | None:
    """The facts about a reference; None for one that is not in the list."""
    return BY_REFERENCE.get(reference)


def why(entry: Entry) -> str:
    """Why this drafter, in a few words."""
    draft = entry_of(entry.draft_reference) if entry.draft_reference else None
    if draft is None:
        return "Finds repeats, needs no memory."
    return f"The same tokenizer, {draft.size.params / entry.size.params:.0%} of the size."
