"""A stand-in for a draft model: the first layers of a checkpoint, saved as a checkpoint of their own.

It was never trained to be one, so its drafts are poor: what it measures is the machinery of `model:REF`, its cost and
its text, and not what a real draft model of the family would gain.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from engine.checkpoints import load_checkpoint


def build_stand_in(ref: str, layers: int, folder: Path) -> Path:
    """Save the first `layers` layers of `ref`, with its embedding, final norm, head and tokenizer, in `folder`.

    Raises CheckpointError when `ref` cannot be loaded.
    """
    full = load_checkpoint(ref, device=torch.device("cpu"), dtype=torch.float32)
    config = _shortened(full.config, layers)
    model: Any = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    weights = full.model.state_dict()
    model.load_state_dict({name: weights[name] for name in model.state_dict()})
    model.save_pretrained(folder)
    full.tokenizer.save_pretrained(folder)
    return folder


def _shortened(config: Any, layers: int) -> Any:
    short = copy.deepcopy(config)
    short.num_hidden_layers = min(layers, config.num_hidden_layers)
    if getattr(short, "layer_types", None):
        short.layer_types = short.layer_types[: short.num_hidden_layers]
    return short
