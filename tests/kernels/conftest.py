"""Without a CUDA device the Triton forms run in Triton's interpreter, which is chosen before Triton is imported."""

from __future__ import annotations

import os
import sys

import torch

if not torch.cuda.is_available() and os.environ.setdefault("TRITON_INTERPRET", "1") == "1":
    language = sys.modules.get("triton.language")
    # Triton decides while it is imported whether its own functions are compiled or interpreted.
    assert language is None or "Interpreted" in type(language.sum).__name__, (
        "Triton was imported before TRITON_INTERPRET was set; set TRITON_INTERPRET=1 for the whole run."
    )
