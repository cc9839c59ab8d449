"""The page as a visitor handles it."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect


@dataclass
class Tab:
    """One open tab; waits until the page is ready."""

    page: Page

    def __post_init__(self) -> None:
        expect(self.page.locator("#send")).to_be_enabled(timeout=60_000)
        named = "() => (window.draftscope || {}).sid && window.sessionStorage.getItem('draftscope.sid')"
        self.page.wait_for_function(named, timeout=30_000)

    @property
    def sid(self) -> str:
        """The session id that the tab keeps."""
        return str(self.page.evaluate("() => window.sessionStorage.getItem('draftscope.sid')"))

    def open_section(self, name: str) -> None:
        """Unfold a section; what is filled in before its controls took their first values would be lost."""
        self.page.get_by_text(name, exact=True).click()
        self.page.wait_for_timeout(400)

    def answers(self) -> Locator:
        """The model's messages."""
        return self.page.locator("#chat .bot.message")

    def questions(self) -> Locator:
        """The visitor's messages."""
        return self.page.locator("#chat .user.message")

    def answer(self) -> str:
        """Text of the last answer."""
        return self.answers().last.inner_text().strip()

    def write(self, text: str) -> None:
        """Fill the message box."""
        self.page.locator("#message textarea").fill(text)

    def press_send(self, text: str) -> None:
        """Write and press Send, whatever comes of it."""
        self.write(text)
        self.page.locator("#send").click()

    def send(self, text: str) -> None:
        """Write, press Send and wait until the message is in the conversation."""
        before = self.questions().count()
        self.press_send(text)
        expect(self.questions()).to_have_count(before + 1, timeout=20_000)

    def expect_running(self) -> None:
        """Wait until an answer streams."""
        expect(self.page.locator("#stop")).to_be_enabled(timeout=20_000)

    def expect_idle(self, timeout_s: float = 60) -> None:
        """Wait until no turn runs."""
        expect(self.page.locator("#stop")).to_be_disabled(timeout=1000 * timeout_s)
        expect(self.page.locator("#send")).to_be_enabled()

    def says(self) -> str:
        """The status line."""
        return self.page.locator("#status").inner_text().strip()
