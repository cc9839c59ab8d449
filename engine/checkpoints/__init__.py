"""Checkpoints: from a reference to a model, a tokenizer and the ids that end a turn."""

import os

# Read when huggingface_hub is first imported, which happens below: nothing but downloads leaves this machine.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from engine.checkpoints.checkpoint import Checkpoint
from engine.checkpoints.load import load_checkpoint
from engine.checkpoints.progress import Progress

__all__ = ["Checkpoint", "Progress", "load_checkpoint"]
