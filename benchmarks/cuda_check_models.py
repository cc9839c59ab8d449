"""Checkpoints of random weights in known shapes, made where they are used, and drafters of a known acceptance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, LlamaConfig

from engine import Engine, attention
from engine.checkpoints import Checkpoint
from engine.drafters.load_model import prepare_draft_model
from engine.drafters.model import DraftModel


@dataclass(frozen=True)
class Shape:
    """A Llama by its sizes."""

    name: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    vocab: int = 128256

    def config(self, layers: int | None = None) -> LlamaConfig:
        """Its configuration; the head is a matrix of its own, so that the stream does not repeat its last token."""
        return LlamaConfig(
            vocab_size=self.vocab,
            hidden_size=self.hidden,
            intermediate_size=self.intermediate,
            num_hidden_layers=layers or self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            max_position_embeddings=8192,
            tie_word_embeddings=False,
            rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        )


SHAPES = (Shape("1B", 2048, 8192, 16, 32, 8), Shape("8B", 4096, 14336, 32, 32, 8))
TINY = (Shape("1B", 64, 96, 2, 4, 2, 512), Shape("8B", 96, 128, 2, 6, 2, 512))
"""The same names, small enough for a processor."""


def checkpoint(
    shape: Shape, device: torch.device, dtype: torch.dtype, *, layers: int | None = None, stock: bool = False
) -> Checkpoint:
    """Random weights from a fixed seed; `layers` makes a shorter one, `stock` leaves transformers' own attention."""
    name = "sdpa" if stock else attention.NAME
    with torch.device(device):
        model: Any = AutoModelForCausalLM.from_config(shape.config(layers), dtype=dtype, attn_implementation=name)
    model.eval().requires_grad_(requires_grad=False)
    generator = torch.Generator(device).manual_seed(0)
    for key, weight in model.named_parameters():
        if "norm" in key:
            weight.fill_(1.0)
        else:  # a unit of variance in gives about half a one out: streams then wander
            scale = 0.7 if "embed" in key else 0.7 / weight.shape[-1] ** 0.5
            weight.normal_(0.0, scale, generator=generator)
    parameters = list(model.parameters())
    return Checkpoint(
        id=f"random-{shape.name}",
        source="random weights",
        model=model,
        tokenizer=None,
        stop_ids=frozenset(),
        chat_template=None,
        config=model.config,
        params=sum(p.numel() for p in parameters),
        bytes=sum(p.nbytes for p in parameters),
    )


def engine_of(source: Checkpoint, most_drafts: int, max_ctx: int) -> Engine:
    """An engine on the device path, which a processor takes with the references of the kernels."""
    return Engine(
        source,
        drafter="none",
        draft_len=most_drafts,
        max_draft_len=most_drafts,
        max_ctx=max_ctx,
        slots=2,
        pack=False,
        threads=torch.get_num_threads(),
        device_path=True,
        debug=False,
    )


def draft_model(shape: Shape, like: Engine, layers: int) -> DraftModel:
    """A model to draft for `like`: with as many layers the same weights, which is right; with fewer, other weights."""
    trunk = like.trunk
    source = checkpoint(shape, trunk.device, trunk.dtype, layers=layers)
    return prepare_draft_model("model:stand-in", source, shape.vocab, max_ctx=like.max_ctx, path_slots=2)


def prompt_of(shape: Shape, length: int) -> list[int]:
    """Token ids from a fixed seed."""
    rng = random.Random(1)
    return [rng.randrange(3, shape.vocab) for _ in range(length)]


class OracleDrafter:
    """Proposes the tokens that follow, each spoilt with probability `1 - right`: a drafter of that acceptance."""

    name = "oracle"
    needs_hidden = False
    max_ctx: int | None = None

    def __init__(self, text: Sequence[int], right: float, vocab: int, seed: int = 0) -> None:
        """`text`: prompt and continuation."""
        self._text, self._right, self._vocab = list(text), right, vocab
        self._random = random.Random(seed)
        self._length = 0

    def start(self, committed: Sequence[int], last_h: Tensor | None) -> None:
        self._length = len(committed)

    def propose(self, pending: int, k: int, last_h: Tensor | None) -> list[int]:
        ahead = self._text[self._length + 1 : self._length + 1 + k]
        return [t if self._random.random() < self._right else (t + 1) % self._vocab for t in ahead]

    def observe(self, tokens: Sequence[int], hidden: Tensor | None) -> None:
        self._length += len(tokens)

    def truncate(self, length: int, last_h: Tensor | None) -> None:
        self._length = length

    def release(self) -> None:
        """Nothing is held."""

    def snapshot(self) -> object:
        return self._length

    def restore(self, snapshot: object, last_h: Tensor | None) -> None:
        assert isinstance(snapshot, int)
        self._length = snapshot
