"""What an operator can set: command line first, then `DRAFTSCOPE_*` variables, then the defaults.

Imports the standard library alone, so that `--help` and a wrong setting answer at once.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

MAX_DRAFT_LEN = 15
"""Largest K one can ask for: a verify round of 16 columns."""
DEFAULT_MAX_DRAFT_LEN = 7
"""K the page offers unless a longer one was asked for; a wider round costs every round."""
MAX_NEW = 4096
MESSAGE_CHARS = 32_000
"""Longest message taken, in characters; longer ones are refused before any work."""
DRAFTERS = ("none", "ngram")
"""Drafters that need no reference."""
DRAFTER_PREFIX = "model:"
LATER_DRAFTERS = ("mtp", "auto", "eagle3")
"""Names that are kept for drafters to come."""
BY_REACH, KEEP_NOTHING = "auto", "off"
"""Of `data`: the user's data folder, but nothing on the disk where others reach the app; and nothing in any case."""
DTYPES = ("auto", "float32", "bfloat16", "float16")
_DEVICE = re.compile(r"auto|cpu|cuda(:\d{1,3})?")
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


class SettingsError(Exception):
    """A setting is wrong; `str(error)` is one sentence that names it and says what is allowed."""


@dataclass(frozen=True)
class Settings:
    """One start of the app."""

    model: str = "default"
    drafter: str = "ngram"
    draft_len: int = 7
    device: str = "auto"
    dtype: str = "auto"
    max_ctx: int = 0
    slots: int = 4
    models: str = ""
    host: str = "127.0.0.1"
    port: int = 7860
    share: bool = False
    trust_remote_code: bool = False
    data: str = BY_REACH

    def __post_init__(self) -> None:
        """Raises `SettingsError` for the first value out of range."""
        _between("port", self.port, 1, 65535)
        _between("draft-len", self.draft_len, 0, MAX_DRAFT_LEN)
        if self.max_ctx:
            _between("max-ctx", self.max_ctx, 64, 1_048_576)
        _between("slots", self.slots, 1, 64)
        if not self.model.strip():
            raise SettingsError("--model is empty: give a Hub id, a folder, a .gguf file or 'default'.")
        if not self.host.strip():
            raise SettingsError("--host is empty: give an address such as 127.0.0.1.")
        if self.dtype not in DTYPES:
            raise SettingsError(f"--dtype {self.dtype!r} is not known: use {', '.join(DTYPES[:-1])} or {DTYPES[-1]}.")
        if not _DEVICE.fullmatch(self.device):
            raise SettingsError(f"--device {self.device!r} is not known: use auto, cpu, cuda or cuda:N.")
        check_drafter(self.drafter)

    @property
    def offered_drafters(self) -> tuple[str, ...]:
        """What a visitor may choose from: those that need no reference, and the one the operator named."""
        return tuple(dict.fromkeys((*DRAFTERS, self.drafter)))

    @property
    def data_folder(self) -> Path | None:
        """The folder that was named for conversations and sweeps; None when none was."""
        name = self.data.strip()
        return None if name in ("", BY_REACH, KEEP_NOTHING) else Path(name).expanduser()

    @property
    def max_draft_len(self) -> int:
        """The K the engine's round is built for."""
        return max(DEFAULT_MAX_DRAFT_LEN, self.draft_len)


def check_drafter(name: str) -> None:
    """Raise `SettingsError` unless `name` is the form of a drafter; the engine says whether it fits."""
    if name in DRAFTERS or (name.startswith(DRAFTER_PREFIX) and len(name) > len(DRAFTER_PREFIX)):
        return
    problem = "available in this version" if name.partition(":")[0] in LATER_DRAFTERS else "known"
    raise SettingsError(f"--drafter {name!r} is not {problem}: use none, ngram or model:REF.")


def _between(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise SettingsError(f"--{name} is {value}, but must be from {low} to {high}.")


HELP = {
    "model": "checkpoint to chat with: 'default', 'demo', a Hub id, a local folder or a .gguf file",
    "drafter": "who proposes tokens: none, ngram, or model:REF (a smaller checkpoint with the same tokenizer)",
    "draft_len": f"most tokens drafted in a round, 0 to {MAX_DRAFT_LEN}",
    "device": "auto, cpu, cuda or cuda:N",
    "dtype": "auto, float32, bfloat16 or float16",
    "max_ctx": "context of a conversation, in tokens; 0: up to 4096, as the model allows",
    "slots": "conversations whose caches stay in memory",
    "models": "checkpoints of the curated list that may be loaded in the page: names separated by commas, or 'all'",
    "host": "address to listen on; 127.0.0.1 keeps the page on this machine",
    "port": "port to listen on",
    "trust_remote_code": "run Python code that comes with the checkpoint; only for sources you trust",
    "share": "also open a public link for a week, through Gradio's share server",
    "data": "where conversations and sweeps are kept: a folder, 'off', or 'auto': your data folder, unless others "
    "can reach the app",
}

DEMO = "the same as --model demo: a tiny model made on the spot, without a download; it babbles"


def parse(argv: Sequence[str], env: Mapping[str, str] | None = None) -> Settings:
    """Settings from a command line and an environment. Raises `SettingsError`; `--help` exits with code 0."""
    env = os.environ if env is None else env
    parser = _Parser(
        allow_abbrev=False,
        prog="app.py",
        description="Draftscope: chat with a model decoded by a speculative session, and watch the session work.",
        epilog="Each option is also an environment variable, for example DRAFTSCOPE_DRAFT_LEN=5.",
    )
    defaults = _defaults(env)
    for item in fields(Settings):
        flag, text = f"--{item.name.replace('_', '-')}", f"{HELP[item.name]} (default: {defaults[item.name]})"
        if item.type == "bool":
            parser.add_argument(flag, action="store_const", const="true", default=None, help=text)
        else:
            parser.add_argument(flag, default=None, metavar="VALUE", help=text)
    parser.add_argument("--demo", dest="model", action="store_const", const="demo", help=DEMO)
    given = vars(parser.parse_args(list(argv)))
    values: dict[str, object] = {}
    for item in fields(Settings):
        raw, source = given[item.name], f"--{item.name.replace('_', '-')}"
        if raw is None:
            source = f"DRAFTSCOPE_{item.name.upper()}"
            raw = env.get(source)
        values[item.name] = defaults[item.name] if raw is None else _value(str(item.type), raw, source)
    return Settings(**values)  # type: ignore[arg-type]


def _defaults(env: Mapping[str, str]) -> dict[str, object]:
    out: dict[str, object] = {item.name: item.default for item in fields(Settings)}
    if "SPACE_ID" in env:
        # A Space routes to the container's address, so a loopback server would never be reached.
        out["host"] = "0.0.0.0"
    return out


def _value(kind: str, raw: str, source: str) -> object:
    if kind == "int":
        try:
            return int(raw)
        except ValueError:
            raise SettingsError(f"{source} is {raw!r}, but must be a whole number.") from None
    if kind == "bool":
        if raw.strip().lower() in TRUE + FALSE:
            return raw.strip().lower() in TRUE
        raise SettingsError(f"{source} is {raw!r}, but must be true or false.")
    return raw


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise SettingsError(f"{message[:1].upper()}{message[1:]}; see app.py --help.")
