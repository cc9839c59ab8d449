"""What drafters and models are called where anyone may read it: never by a path of this machine."""

from __future__ import annotations

import re

from playground.settings import Settings

PREFIX = "model:"
LABELS = {"none": "plain decoding", "ngram": "n-gram lookup"}
_PATH = re.compile(r"^([/\\~.]|[A-Za-z]:[/\\])|\\|/.*/|\.gguf$")


def short_reference(reference: str) -> str:
    """A Hub id or a name as it is; of a path the last part."""
    return re.split(r"[/\\]", reference.rstrip("/\\"))[-1] if _PATH.search(reference) else reference


def public_name(drafter: str) -> str:
    """A drafter's name without a path: what a page sends and a file holds."""
    head, colon, reference = drafter.partition(":")
    return f"{head}:{short_reference(reference)}" if colon else drafter


def drafter_label(name: str) -> str:
    """What a reader calls it."""
    return LABELS.get(name) or (f"draft model {name.removeprefix(PREFIX)}" if name.startswith(PREFIX) else name)


def offered(settings: Settings) -> dict[str, str]:
    """Public name to drafter, for those that the operator offers; `none` is among them."""
    return {public_name(drafter): drafter for drafter in settings.offered_drafters}
