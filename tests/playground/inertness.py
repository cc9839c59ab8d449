"""What a text of `evil_corpus` would have done to a page, had it been taken for markup."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page

RECORD = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.__violations.push(`${event.violatedDirective} ${event.blockedURI}`);
});
"""
FAULTS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
"""A function of the page that lists what a text did to it."""


@dataclass
class Witness:
    """Watches every page of a browser context for what a script, a link or a picture of a text would do."""

    context: BrowserContext
    home: str
    seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context.add_init_script(RECORD)
        self.context.on("request", lambda request: self._asked(request.url))
        self.context.on("page", self._watch)

    def faults(self, page: Page) -> list[str]:
        """Everything found so far, by watching and by looking at the page as it is."""
        return [*self.seen, *page.evaluate(FAULTS)]

    def _watch(self, page: Page) -> None:
        page.on("dialog", self._dialog)
        page.on("framenavigated", lambda frame: self._asked(frame.url))
        page.on("pageerror", lambda error: self.seen.append(f"script error: {error}"))

    def _dialog(self, dialog: Any) -> None:
        self.seen.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, url: str) -> None:
        if not url.startswith((self.home, "data:", "blob:", "about:blank")):
            self.seen.append(f"asked for {url}")
