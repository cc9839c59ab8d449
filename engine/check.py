"""`check_exact`: decode a session's own history again, plainly, and compare every generated token.

Each token is compared under the rule that chose it: greedy ones with the argmax, coupled ones with plain sampling under
the same noise. Rejection keeps only the distribution, so its tokens are taken as they are and counted apart.
Plainly means one token a forward, no drafter, no carry, in rows of their own; prompts are prefilled as they were given.
The comparison stops at the first difference and reports both tokens and the gap between their logits, so that a
near-tie can be told from a fault. It never hides one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.events import CheckEvent

if TYPE_CHECKING:
    from torch import Tensor

    from engine.cache import CacheSlot
    from engine.session import Chosen, SpecSession

Progress = Callable[[int, int], bool]
"""Told (tokens compared, tokens in all) before every forward; False cancels."""


def check_exact(session: SpecSession, progress: Progress | None = None) -> CheckEvent:
    """Compare the session's generated tokens with plain greedy decoding; append the outcome to the trace.

    The session cannot run meanwhile, others can; rows are rebuilt in a slot of their own, so nothing is evicted.
    The event says `identical`, or where the first difference is (`index` into the history), which token plain decoding
    gives (`expected`), which one the session has (`actual`), and the `gap` of their logits; or `cancelled`.
    """
    with session.exclusive("check_exact"):
        history = session.history
        go_on = progress or (lambda done, total: True)
        return session.trace.append(_replay(session, history, list(session.chosen), go_on))


def _replay(session: SpecSession, history: list[int], chosen: list[Chosen | None], go_on: Progress) -> CheckEvent:
    engine = session.engine
    slot = engine.trunk.new_slot(len(history) + engine.widths.prefill[-1])
    total, done, drawn, at = sum(how is not None for how in chosen), 0, 0, 0
    last: Tensor | None = None
    while at < len(history):
        if not go_on(done, total):
            return CheckEvent(identical=False, tokens=done - drawn, cancelled=True, drawn=drawn)
        how = chosen[at]
        if how is not None:
            assert last is not None, "a session begins with a prompt"
            rule, index = how
            expected = rule.replay(last, history[:at] if rule.needs_context else [], index)
            if expected is None:
                drawn += 1
            elif expected != history[at]:
                gap = float(last[expected] - last[history[at]])
                return CheckEvent(
                    identical=False,
                    tokens=done - drawn,
                    index=at,
                    expected=expected,
                    actual=history[at],
                    gap=gap,
                    drawn=drawn,
                )
            done += 1
            if done == total:
                break
            at += 1
            if chosen[at] is not None:  # else the turn that follows carried it into its prefill
                last = _forward(session, slot, history[at - 1 : at], engine.widths.round_width(1))
        else:
            end = next((i for i in range(at, len(history)) if chosen[i] is not None), len(history))
            size = min(end - slot.length, engine.prefill_chunk)
            width = engine.widths.prefill_width(size, slot.capacity - slot.length)
            chunk = history[slot.length : slot.length + min(size, width)]
            last = _forward(session, slot, chunk, width)
            at = slot.length
    return CheckEvent(identical=True, tokens=done - drawn, drawn=drawn)


def _forward(session: SpecSession, slot: CacheSlot, tokens: list[int], width: int) -> Tensor:
    """Write rows for `tokens`; the logits row after the last."""
    out = session.engine.trunk.forward(slot, slot.length, tokens, width, keep=[len(tokens) - 1])
    slot.truncate(slot.length + len(tokens))
    return out.logits[0]
