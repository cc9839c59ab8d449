"""The invariants that hold between the calls of a session, as asserts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.session import SpecSession


def check_invariants(session: SpecSession) -> None:
    """Assert I1 to I6 and I8 (I7 is checked by whoever keeps the earlier counters)."""
    length = len(session.committed)
    assert session.slot is None or session.failed or session.slot.length == length, "I1: rows and committed differ"
    assert length <= session.engine.max_ctx, "I1: more rows than max_ctx"
    assert len(session.chosen) == len(session.history), "I8: the history and how it was chosen differ"
    if session.failed or session.closed:
        return
    assert session.pending_tok is None or session.next_pred is None, "I3: pending and next_pred are both set"
    if length or session.pending_tok is not None:
        assert (session.pending_tok is None) != (session.next_pred is None), "I4: neither pending nor next_pred"
        assert length == 0 or session.last_h is not None, "I5: no hidden of the last row"
    if session.next_pred is not None:
        assert session.last_logits is not None and int(session.last_logits.argmax()) == session.next_pred, (
            "I4: stale prediction"
        )
    positions = session.rewind_points()
    assert positions == sorted(set(positions)) and all(0 < p <= length for p in positions), "I6: bad checkpoint"
    assert session.history[:length] == session.committed, "I8: history is not committed + pending"
