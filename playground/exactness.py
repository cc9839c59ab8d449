"""The exactness check: what runs it, how far it is in words, and what it found."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.events import CheckEvent
from playground.panels.token_text import Tokenizer, TokenTexts

if TYPE_CHECKING:
    from engine import SpecSession
    from engine.chat import ChatSession

Progress = Callable[[int, int], bool]
"""Told tokens compared and tokens in all; False stops."""
POLL_S = 0.1
KEPT = "accept tests keep the distribution of tokens, not their values"
Check = Callable[["SpecSession", Progress], CheckEvent]


def check_session(session: SpecSession, progress: Progress) -> CheckEvent:
    """`engine.check_exact`, imported with the first check."""
    from engine import check_exact

    return check_exact(session, progress)


class OneAtATime:
    """A check that waits for others: each has rows of its own, and many at once would fill the memory."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._lock = threading.Lock()

    def __call__(self, session: SpecSession, progress: Progress) -> CheckEvent:
        """Run the check when no other one runs; while it waits, `progress` is told of 0 tokens in all."""
        while not self._lock.acquire(timeout=POLL_S):
            if not progress(0, 0):
                return CheckEvent(identical=False, tokens=0, cancelled=True)
        try:
            return self._check(session, progress)
        finally:
            self._lock.release()


def progress_line(done: int, total: int) -> str:
    """What a page says while a check runs, or waits."""
    if not total:
        return "Waiting for another check to end."
    return f"Checking against plain decoding: {done:,} of {total:,} tokens, no difference so far."


def not_compared(check: CheckEvent, chat: ChatSession) -> int:
    """Tokens of answers that this session did not generate but read, after a restart for example: it has nothing to
    compare them with."""
    said = sum(len(exchange.answer.ids) for exchange in chat.transcript.exchanges if exchange.answer is not None)
    hidden = 0 if chat.turn is None else len(chat.turn.hidden)
    return max(0, said - (check.tokens + check.drawn - hidden)) if check.identical else 0


def verdict(check: CheckEvent, tokenizer: Tokenizer, read: int = 0) -> str:
    """The outcome in one sentence; a difference with both tokens, its position counted from 1, and the logit gap.

    What accept tests chose is passed over, and the sentence says how many tokens that were; so it does of `read` tokens
    of answers that were read as a part of the prompt.
    """
    count, passed = _tokens(check.tokens), _passed_over(check.drawn)
    if check.identical and check.drawn and not check.tokens:
        return f"Nothing to compare: every token ({check.drawn:,}) was drawn in rejection mode; {KEPT}."
    if check.identical:
        before = f"; {_tokens(read)} of earlier answers were read again, and not compared" if read else ""
        return f"Identical to plain decoding: {count}{passed}{before}."
    if check.cancelled or check.index is None or check.expected is None or check.actual is None:
        return f"Check stopped: {count} identical so far{passed}."
    text = TokenTexts(tokenizer)
    gap = "" if check.gap is None else f", with logits {check.gap:.3g} apart"
    return (
        f"Not identical: after {count} that are, at position {check.index + 1:,} plain decoding gives "
        f"“{text(check.expected)}” where this conversation has “{text(check.actual)}”{gap}{passed}."
    )


def _tokens(count: int) -> str:
    return f"{count:,} token{'s' * (count != 1)}"


def _passed_over(drawn: int) -> str:
    return f"; {drawn:,} sampled one{'s' * (drawn != 1)} passed over, because {KEPT}" if drawn else ""
