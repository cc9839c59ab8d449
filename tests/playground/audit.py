"""An accessibility audit of a page by axe-core, offline: the script comes with a package."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

SERIOUS = ("serious", "critical")
GRADIO: tuple[tuple[str, str, str], ...] = ()
"""Rule, part of the selector, and why it cannot be mended from outside."""


def findings(page: Page, *rules: str) -> list[str]:
    """Rule, place and reason of each serious finding that is not Gradio's own; of all rules unless some are named."""
    options: dict[str, Any] = {"resultTypes": ["violations"], "iframes": False}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: list[dict[str, Any]] = page.evaluate("(options) => axe.run(document, options)", options)["violations"]
    return [
        f"{rule['id']} at {' '.join(map(str, node['target']))}: {node.get('failureSummary', '')}"
        for rule in found
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
        if not _is_gradios(rule["id"], " ".join(map(str, node["target"])))
    ]


def _is_gradios(rule: str, target: str) -> bool:
    return any(rule == known and part in target for known, part, _ in GRADIO)
