"""What a viewer costs the server: `python -m benchmarks.viewer_cost`

The same answers are decoded twice, with nobody watching and with one page in headless Chromium. Counted is the
processor time of the server's Python threads other than those of the engine: serving, following, making deltas. The
browser is a process of its own. Needs the development requirements.
"""

from __future__ import annotations

import argparse
import threading
import time

from playwright.sync_api import sync_playwright

from benchmarks.chromium import goto_when_up, launch

PROMPT = "Tell me a very long story about a lighthouse keeper and a whale. Repeat the story three times."
ENGINE = "engine"
"""How the names of the engine's threads begin."""


def main() -> None:
    """Run and print both shares and their difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--port", type=int, default=7978)
    parser.add_argument("--model", default="default")
    options = parser.parse_args()
    from playground.launch import prepare_environment

    prepare_environment()
    from playground.handlers import Handlers
    from playground.limits import TurnOptions
    from playground.page import build_page
    from playground.server import open_page
    from playground.service import Service, chat_of, load_from_settings
    from playground.settings import Settings

    settings = Settings(model=options.model, port=options.port, data="off")
    service = Service(settings, load_from_settings, chat_of)
    page = build_page(service, Handlers(service))
    open_page(page, settings)
    service.start()
    if not service.wait(300):
        raise SystemExit(service.status.sentence)
    turn = TurnOptions(max_new=2048)

    def measure(sid: str) -> tuple[float, float]:
        """Share of a core, and rounds a second, while one answer is decoded."""
        talk = service.registry.get(sid)
        talk.send(PROMPT, turn)
        while talk.view().phase != "decoding":
            time.sleep(0.05)
        rounds, cpu, begin = _rounds(talk), _served(), time.monotonic()
        while time.monotonic() - begin < options.seconds and talk.view().running:
            time.sleep(0.1)
        took = time.monotonic() - begin
        out = (_served() - cpu) / took, (_rounds(talk) - rounds) / took
        talk.stop()
        while talk.view().running:
            time.sleep(0.05)
        return out

    alone, pace = measure(service.registry.new().sid)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        tab = browser.new_page(viewport={"width": 1440, "height": 1000})
        goto_when_up(tab, f"http://127.0.0.1:{options.port}/")
        tab.wait_for_function("() => (window.draftscope || {}).sid", timeout=120_000)
        sid = str(tab.evaluate("window.draftscope.sid"))
        found: list[tuple[float, float]] = []
        thread = threading.Thread(target=lambda: found.append(measure(sid)), name=f"{ENGINE} measuring")
        tab.locator("#message textarea").focus()
        thread.start()
        while thread.is_alive():
            tab.wait_for_timeout(100)
        browser.close()
    watched, seen = found[0]
    print(f"nobody watching: {alone:.1%} of a core at {pace:.1f} rounds a second")
    print(f"one page:        {watched:.1%} of a core at {seen:.1f} rounds a second")
    print(f"one viewer:      {watched - alone:.1%} of a core")
    service.close()
    page.close(verbose=False)


def _served() -> float:
    """Processor seconds of this process's Python threads, without the engine's and the one that measures.

    By the threads' own clocks: what `/proc` adds up by ticks is too coarse for a few per cent.
    """
    return sum(
        time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
        for thread in threading.enumerate()
        if thread.ident is not None and not thread.name.startswith((ENGINE, "MainThread"))
    )


def _rounds(talk: object) -> int:
    chat = getattr(talk, "chat", None)
    return 0 if chat is None else int(chat.session.telem.rounds)


if __name__ == "__main__":
    main()
