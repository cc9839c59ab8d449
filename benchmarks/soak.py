"""Soak: a tab and its server under constant decoding; does memory stay flat? `python -m benchmarks.soak --minutes 10`

Starts the app, opens it in headless Chromium and keeps it answering. Every half minute it
notes rounds, the heap after a collection, DOM nodes, the resident memory of the server, and gaps in the deltas.
The figures of the first fifth are left out: caches fill, code warms up. Needs the development requirements.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import psutil
from playwright.sync_api import CDPSession, Page, expect, sync_playwright

from benchmarks.chromium import goto_when_up, launch

ROOT = Path(__file__).parent.parent
PROMPT = "Tell me a very long story about a lighthouse keeper and a whale. Repeat the story three times."
EVERY_S = 30.0
STORE = "() => { const s = window.__draftscope; return [s.applied, s.resyncs, s.state.rounds.at(-1)?.r ?? 0]; }"


@dataclass(frozen=True)
class Sample:
    """One look at page and server."""

    seconds: float
    deltas: int
    """Deltas that the page applied."""
    resyncs: int
    """How often it found a gap and asked for everything."""
    rounds: int
    """Rounds it was shown, over all conversations."""
    heap_mb: float
    nodes: int
    server_mb: float


def main() -> None:
    """Run, print a line per sample and the verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--port", type=int, default=7979)
    parser.add_argument("--model", default="default", help="a small one decodes as fast as a page can be fed")
    parser.add_argument("--json", type=Path, help="where to write the samples")
    options = parser.parse_args()
    url = f"http://127.0.0.1:{options.port}/"
    setting = ["--model", options.model, "--port", str(options.port), "--data", "off"]
    server = subprocess.Popen([sys.executable, str(ROOT / "app.py"), *setting], cwd=ROOT)
    try:
        samples = soak(url, psutil.Process(server.pid), options.minutes * 60)
    finally:
        server.terminate()
        server.wait(20)
    report(samples)
    if options.json:
        options.json.write_text(json.dumps([asdict(sample) for sample in samples], indent=1))


def soak(url: str, server: psutil.Process, seconds: float) -> list[Sample]:
    """Keep one tab busy for `seconds` and look at it every half minute."""
    samples: list[Sample] = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        _open(page, url)
        devtools = page.context.new_cdp_session(page)
        devtools.send("Performance.enable")
        begin, due, rounds, newest = time.monotonic(), 0.0, 0, 0
        while (now := time.monotonic() - begin) < seconds:
            _keep_busy(page)
            before, newest = newest, int(page.evaluate(STORE)[2])
            rounds += newest - before if newest >= before else newest  # Clear counts from 1 again
            if now >= due:
                due = now + EVERY_S
                samples.append(_look(page, devtools, server, now, rounds))
                print(samples[-1], flush=True)
            page.wait_for_timeout(100)
        browser.close()
    return samples


def _open(page: Page, url: str) -> None:
    goto_when_up(page, url)
    page.wait_for_function("() => (window.draftscope || {}).sid", timeout=120_000)
    page.locator("#settings button").first.click()
    page.locator("#max_new input[type=number]").fill("2048")
    page.locator("#max_new input[type=number]").press("Tab")


def _keep_busy(page: Page) -> None:
    """Ask again when the answer has ended; begin anew when the context is used up."""
    if page.locator("#stop").is_enabled():
        return
    full = "context is full" in page.locator("#status").inner_text()
    if full or page.locator("#chat .bot.message").count() >= 4:
        page.locator("#clear").click()
        expect(page.locator("#chat .bot.message")).to_have_count(0, timeout=20_000)
    page.locator("#message textarea").fill(PROMPT)
    page.locator("#send").click()
    page.wait_for_timeout(300)


def _look(page: Page, devtools: CDPSession, server: psutil.Process, now: float, rounds: int) -> Sample:
    devtools.send("HeapProfiler.collectGarbage")
    metrics = {m["name"]: m["value"] for m in devtools.send("Performance.getMetrics")["metrics"]}
    return Sample(
        round(now, 1),
        *(int(count) for count in page.evaluate(STORE)[:2]),
        rounds,
        round(metrics["JSHeapUsedSize"] / 2**20, 2),
        int(metrics["Nodes"]),
        round(server.memory_info().rss / 2**20, 1),
    )


def report(samples: list[Sample]) -> None:
    """First against last part, warm-up left out."""
    kept = samples[len(samples) // 5 :]
    third = max(1, len(kept) // 3)
    for name in ("heap_mb", "nodes", "server_mb"):
        first = median(getattr(sample, name) for sample in kept[:third])
        end = median(getattr(sample, name) for sample in kept[-third:])
        print(f"{name}: {first:.1f} -> {end:.1f} ({end / first:.2f}x)")
    last = samples[-1]
    rate = last.rounds / max(1.0, last.seconds)
    print(
        f"{last.rounds} rounds, {rate:.1f} a second; {last.deltas} deltas, {last.resyncs} gaps in {last.seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
