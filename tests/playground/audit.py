"""An accessibility audit of a page by axe-core, offline: the script comes with a package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

SERIOUS = ("serious", "critical")
GRADIO: tuple[tuple[str, str, str], ...] = ()
"""Rule, part of the selector, and why it cannot be mended from outside."""


def findings(page: Page, impacts: Iterable[str] = SERIOUS) -> list[str]:
    """Rule, place and reason of each finding of these impacts that is not Gradio's own."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: list[dict[str, Any]] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{rule['id']} at {' '.join(map(str, node['target']))}: {node.get('failureSummary', '')}"
        for rule in found
        if rule["impact"] in impacts
        for node in rule["nodes"]
        if not _is_gradios(rule["id"], " ".join(map(str, node["target"])))
    ]


def _is_gradios(rule: str, target: str) -> bool:
    return any(rule == known and part in target for known, part, _ in GRADIO)
