"""The one line that says what the conversation does, for eyes and screen readers alike, and the engine's line."""

from __future__ import annotations

from engine.events import Reason
from playground.exactness import progress_line
from playground.service import EngineFacts, EngineStatus
from playground.step_words import Level
from playground.text import html
from playground.view import Outcome, View

ENDED: dict[Reason, str] = {
    "stop": "Done",
    "length": "Reached max new tokens; Continue goes on from here",
    "cancelled": "Stopped; Continue goes on from here",
    "context": "The context is full; Clear begins anew",
}


def status_line(view: View, engine: EngineStatus, ahead: int, level: Level = "engineer", about: str = "") -> str:
    """One sentence of plain text. `ahead` jobs stand before the conversation's own; `about`: for how long, or ''."""
    if view.running and view.waiting is not None:
        return view.waiting.words(level)
    if view.running:
        return _running(view, engine, ahead, about)
    unkept = f" This conversation is not being kept. {view.unkept}" if view.unkept else ""
    if view.notice:
        return view.notice + unkept
    if engine.state == "loading":
        return f"{engine.sentence}. You can write already."
    if engine.state == "failed":
        return engine.sentence
    return (_ended(view.outcome) if view.outcome else "Ready when you are.") + unkept


def _running(view: View, engine: EngineStatus, ahead: int, about: str) -> str:
    if view.phase == "waiting" and engine.state == "loading":
        return f"{engine.sentence}. Your message is next."
    if view.phase == "waiting":
        return _in_line(ahead, about) if ahead else "Starting."
    if view.phase == "checking":
        return progress_line(*view.checked) if view.checked else "Checking against plain decoding."
    if view.phase == "prefill":
        return "Reading the prompt."
    return f"Answering at {speed(view.tok_s)}." if view.tok_s else "Answering."


def _in_line(ahead: int, about: str) -> str:
    begins = f"; your answer begins in {about}" if about else ""
    return f"Waiting for {ahead} other conversation{'s' * (ahead != 1)}{begins}."


def speed(tok_s: float) -> str:
    """Tokens per second with two digits that mean something."""
    return f"{tok_s:.0f} tokens/s" if tok_s >= 10 else f"{tok_s:.1f} tokens/s"


def _ended(outcome: Outcome) -> str:
    count = f"{outcome.tokens} token{'s' * (outcome.tokens != 1)}"
    rate = f", {speed(outcome.tok_s)}" if outcome.tok_s else ""
    past = f", {outcome.hidden} past the limit and not shown" if outcome.hidden else ""
    seed = "" if outcome.seed is None else f", seed {outcome.seed}"
    return f"{ENDED[outcome.reason]}: {count}{rate}{past}{seed}."


def engine_line(status: EngineStatus) -> str:
    """HTML: the running model as labelled chips, or the progress of loading one."""
    parts = [_facts(status.facts)] if status.facts else []
    if status.state == "loading":
        width = f"{100 * status.fraction:.0f}%" if status.fraction is not None else "35%"
        busy = "" if status.fraction is not None else " busy"
        parts.append(
            f'<span class="loading">{html(status.sentence)}'
            f'<span class="bar{busy}"><span style="width:{width}"></span></span></span>'
        )
    elif status.state == "failed":
        parts.append(f'<span class="failed">{html(status.sentence)}</span>')
    return f'<div class="engine">{"".join(parts)}</div>'


def _facts(facts: EngineFacts) -> str:
    chips = (
        ("Model", facts.model),
        ("Runs on", f"{facts.device}, {facts.dtype}"),
        ("Context", f"{facts.max_ctx:,} tokens"),
        ("Exactness", facts.verdict),
    )
    return "".join(f'<span class="fact"><b>{name}</b> {html(value)}</span>' for name, value in chips)


def gauge(used: int, max_ctx: int) -> str:
    """HTML: how much of the context is used, as a bar and in figures."""
    if max_ctx <= 0:
        return '<div class="gauge"></div>'
    share = min(1.0, used / max_ctx)
    level = "full" if share >= 0.95 else "high" if share >= 0.8 else "low"
    label = f"Context: {used:,} of {max_ctx:,} tokens used"
    return (
        f'<div class="gauge {level}" role="img" aria-label="{label}" title="{label}">'
        f'<span class="track"><span style="width:{100 * share:.1f}%"></span></span>'
        f"<span>{used:,} / {max_ctx:,} tokens of context</span></div>"
    )
