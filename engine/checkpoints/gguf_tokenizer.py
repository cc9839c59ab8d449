"""The tokenizer inside a GGUF file, with the pre-tokenizer the file names.

transformers 5.24 builds vocabulary, merges and special tokens, but a byte-level vocabulary whose
`tokenizer.ggml.pre` it does not know is silently split like GPT-2's. SmolLM2's is one of these: its own
tokenizer splits every numeral off first (llama.cpp has the same rule under `smollm`). Its merges hide the
difference for 0-9 and show it for other numerals. Names that nobody here has checked are refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.integrations.gguf import convert_gguf_tokenizer, get_gguf_tokenizer
from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

from engine.errors import CheckpointError

TOKEN_ARRAYS = ("tokenizer.ggml.tokens", "tokenizer.ggml.merges", "tokenizer.ggml.token_type")
"""Metadata arrays that `read_gguf_metadata` has to keep for `build_tokenizer`."""

_LIKE_GPT2 = ("gpt-2", "gpt2", "phi-2", "mpt", "olmo", "jais")
_DIGITS_THEN_GPT2 = ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b")
_NFC = ("qwen2", "deepseek-r1-qwen")  # vocabularies whose original tokenizers normalise text to NFC


def build_tokenizer(path: Path, metadata: dict[str, Any]) -> Any:
    """The file's `PreTrainedTokenizerFast`, chat template included if it carries one.

    Raises `CheckpointError` for a file without a tokenizer, or with a way of splitting text that is not
    known.
    """
    if not isinstance(metadata.get("tokenizer.ggml.tokens"), list):
        raise CheckpointError(f"{path.name} has no tokenizer: use a file that carries one.")
    architecture, parts, settings = get_gguf_tokenizer(str(path))
    backend, _ = convert_gguf_tokenizer(architecture, parts | _token_types(metadata))
    if parts.get("tokenizer_type") == "gpt2":
        _set_pre_tokenizer(backend, parts.get("pre_tokenizer_type"), path.name)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        clean_up_tokenization_spaces=False,
        **{k: v for k, v in settings.items() if v is not None},
    )
    if len(tokenizer) != len(metadata["tokenizer.ggml.tokens"]):
        raise CheckpointError(f"The tokenizer in {path.name} does not come out with the file's own vocabulary.")
    return tokenizer


def _token_types(metadata: dict[str, Any]) -> dict[str, Any]:
    types = metadata.get("tokenizer.ggml.token_type")
    return {"token_type": types} if isinstance(types, list) else {}


def _set_pre_tokenizer(backend: Tokenizer, name: str | None, file: str) -> None:
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if name in _DIGITS_THEN_GPT2:
        backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level])
    elif name in _LIKE_GPT2:
        backend.pre_tokenizer = byte_level
    elif name not in GGUF_PRE_TOKENIZER_SPLITS:
        raise CheckpointError(
            f"{file} splits text by the rule '{name}', which is not known here: use its safetensors checkpoint."
        )
    if name in _NFC:
        backend.normalizer = normalizers.NFC()
