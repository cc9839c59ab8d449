"""`python -m engine.checkpoints.fetch [REF]`: have a checkpoint on this machine before the app starts."""

from __future__ import annotations

import argparse
import sys

import torch

from engine.checkpoints.load import resolve
from engine.checkpoints.memory import free_memory
from engine.checkpoints.reference import parse_reference
from engine.errors import CheckpointError


def main(arguments: list[str] | None = None) -> int:
    """Fetch and convert; returns the exit status, 1 with one sentence on standard error if that fails."""
    parser = argparse.ArgumentParser(prog="python -m engine.checkpoints.fetch", description=__doc__)
    parser.add_argument("ref", nargs="?", default="default", help="default, a Hub id or a .gguf file")
    said: set[str] = set()

    def say(sentence: str, fraction: float | None) -> None:
        if sentence not in said:
            said.add(sentence)
            print(f"{sentence}...", flush=True)

    try:
        found = resolve(parse_reference(parser.parse_args(arguments).ref), say, torch.device("cpu"), free_memory)
    except CheckpointError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{found.id} is ready.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
