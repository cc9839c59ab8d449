"""How quick the page is, in headless Chromium on the default checkpoint: `python -m benchmarks.page_times`

Cold page to a usable Send, bytes on the wire, requests to anywhere else; the first text after the engine's first token,
the click included; Stop to a page at rest. Medians of several; needs the development requirements.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks.chromium import goto_when_up, launch

ROOT = Path(__file__).parent.parent
PROMPT = "Write the numbers from 1 to 200, separated by commas."
WHEN_SHOWN = """() => new Promise((done) => {
  const chat = document.querySelector('#chat');
  const begin = performance.now();
  const look = () => {
    if (!chat.querySelector('.bot.message')?.textContent.trim()) return;
    seen.disconnect();
    done(performance.now() - begin);
  };
  const seen = new MutationObserver(look);
  seen.observe(chat, { subtree: true, childList: true, characterData: true });
  look();
})"""
WHEN_STOPPED = """
() => new Promise((resolve) => {
  const stop = document.querySelector("#stop");
  let pressed = 0;
  stop.addEventListener("click", () => { pressed = performance.now(); }, { capture: true, once: true });
  new MutationObserver((_, watch) => {
    if (!pressed || !stop.disabled) return;
    watch.disconnect();
    resolve(performance.now() - pressed);
  }).observe(stop, { attributes: true });
})
"""
"""Milliseconds from the press, not from the pointer's way there, until the page is at rest."""


def main() -> None:
    """Run and print; `--json` writes the same."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--port", type=int, default=7980)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    url = f"http://127.0.0.1:{options.port}/"
    setting = ["--port", str(options.port), "--data", "off"]
    server = subprocess.Popen([sys.executable, str(ROOT / "app.py"), *setting], cwd=ROOT)
    try:
        found = measure(url, options.repeat)
    finally:
        server.terminate()
        server.wait(20)
    for name, value in found.items():
        print(f"{name}: {value}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


def measure(url: str, repeat: int) -> dict[str, Any]:
    """Every figure, by name and unit."""
    cold: list[float] = []
    wire: list[float] = []
    first: list[float] = []
    stop: list[float] = []
    elsewhere: set[str] = set()
    with sync_playwright() as playwright:
        browser = launch(playwright)
        until_ready(browser, url)
        for _ in range(repeat):
            context = browser.new_context(viewport={"width": 1440, "height": 1000})
            page = context.new_page()
            page.on("request", lambda request: elsewhere.add(request.url) if foreign(request.url, url) else None)
            seconds, megabytes = open_cold(page, url)
            cold.append(seconds)
            wire.append(megabytes)
            late, stopped = one_answer(page)
            first.append(late)
            stop.append(stopped)
            context.close()
        browser.close()
    return {
        "cold page to a usable Send, s": round(median(cold), 2),
        "bytes on the wire, MB": round(max(wire), 2),
        "requests elsewhere": sorted(elsewhere),
        "first text after the engine's first token, ms": round(median(first)),
        "Stop to a page at rest, ms": round(median(stop)),
        "runs": repeat,
    }


def foreign(request: str, url: str) -> bool:
    """Whether a request leaves this server."""
    return not request.startswith((url, "data:", "blob:"))


def until_ready(browser: Browser, url: str) -> None:
    """The model has loaded."""
    page = browser.new_page()
    goto_when_up(page, url)
    expect(page.locator("#engine")).to_contain_text("Exactness", timeout=120_000)
    page.close()


def open_cold(page: Page, url: str) -> tuple[float, float]:
    """Seconds until a message can be sent, and megabytes that came."""
    sizes: list[float] = []
    devtools = page.context.new_cdp_session(page)
    devtools.send("Network.enable")
    devtools.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    begin = time.monotonic()
    page.goto(url)
    page.wait_for_function("() => (window.draftscope || {}).sid")
    expect(page.locator("#send")).to_be_enabled()
    seconds = time.monotonic() - begin
    page.wait_for_timeout(1000)
    return seconds, sum(sizes) / 1e6


def one_answer(page: Page) -> tuple[float, float]:
    """Milliseconds from Send to the first text, less the prefill that ends with the first token; from Stop to rest."""
    page.locator("#message textarea").fill(PROMPT)
    page.evaluate(f"() => {{ window.shownAt = ({WHEN_SHOWN})(); }}")
    page.locator("#send").click()
    shown = float(page.evaluate("() => window.shownAt"))
    page.wait_for_timeout(1500)
    page.evaluate(f"() => {{ window.stoppedAfter = ({WHEN_STOPPED})(); }}")
    page.locator("#stop").click()
    stopped = float(page.evaluate("() => window.stoppedAfter"))
    with page.expect_download() as download:
        page.get_by_role("button", name="as .jsonl").click()
    events = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    token = next(event for event in events if event.get("kind") == "prefill" and event.get("first") is not None)
    return shown - float(token["ms"]), stopped


if __name__ == "__main__":
    main()
