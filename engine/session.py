"""`SpecSession`: the state of one speculating conversation, and the invariants that hold between its calls.

What each call does in each state (burst.py, rewind.py and take_back.py implement it):

    call                        FRESH         PENDING            PREDICTED          FAILED
    burst with a suffix         prefill       flush via prefill  prefill            error: rewind or reprime
    burst without a suffix      error: give   consume            promote            error: rewind or reprime
                                a suffix
    spec_flush_pending          no-op         round w/o drafts   no-op              error: rewind or reprime
    spec_rewind_to_checkpoint   error: no     to PREDICTED       to PREDICTED       to PREDICTED
                                checkpoint
    drop_overshoot              error         to PREDICTED       error (trimmed     error: rewind or reprime
                                                                 already)
    take_back                   error         to PREDICTED       to PREDICTED       error: rewind or reprime
    set_drafter                 works         works              works              works
    reprime                     no-op         works              works              to the state it failed in
    take_up                     before the    error              error              error
                                first turn
    reset, close, trace, telem  works         works              works              works
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from torch import Tensor

from engine.books import Books, take_up
from engine.drafters import Drafter
from engine.drafters.draft_len import require_draft_len
from engine.errors import ContextFull, SessionStateError
from engine.events import DrafterEvent, ErrorEvent, State
from engine.invariants import check_invariants
from engine.rules import GREEDY, Rule
from engine.telemetry import SpecTelemetry
from engine.trace import Trace
from engine.way_back import Parked, RewindPoint, Tail

if TYPE_CHECKING:
    from engine.cache import CacheSlot
    from engine.engine import Engine

Chosen = tuple[Rule, int]
"""How a token came about: the rule, and the value of the draw counter that was its own."""

MAX_POINTS = 128
"""Rewind points kept; each holds one logits row and one hidden row. The oldest go first."""


class SpecSession:
    """One conversation's committed tokens, caches, drafter, counters and trace. Made by `Engine.new_session`."""

    def __init__(self, engine: Engine, drafter: str | Drafter, draft_len: int) -> None:
        self.engine = engine
        self.committed: list[int] = []
        self.chosen: list[Chosen | None] = []
        """Per token of the history, how it was chosen; None where a prompt gave it."""
        self.next_pred: int | None = None
        self.sctr = 0
        self.uctr = 0
        self.pending_tok: int | None = None
        self.telem = SpecTelemetry()
        self.trace: Trace = engine.new_trace()
        self.drafter: Drafter = engine.make_drafter(drafter)
        self.draft_len = draft_len
        self.turn = -1
        self.bursts = 0
        self.slot: CacheSlot | None = None
        self.last_h: Tensor | None = None
        self.last_logits: Tensor | None = None
        self.points: list[RewindPoint] = []
        self.tail: Tail | None = None
        self.parked: Parked | None = None
        """What a flush committed, while it is the last row."""
        self.rule: Rule = GREEDY
        """What the latest burst chose by."""
        self.drawn: tuple[Rule, int] | None = None
        """A token drawn for the next place and then dropped before anyone saw it: used again under the same rule."""
        self.draft_cut = 0.0
        """Drafters with probabilities stop where their best token has less than this."""
        self.alternatives = 0
        """How many of the most probable tokens a round notes per column; 0 notes none."""
        self._seed: int | None = None
        self.failed = False
        self.drafter_ended = False
        self.closed = False
        self._busy = threading.Lock()
        self.set_drafter(self.drafter, draft_len)

    # -- what anyone may read ------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """FRESH, PENDING, PREDICTED or FAILED; see the module docstring for what each allows."""
        if self.failed:
            return "FAILED"
        if self.pending_tok is not None:
            return "PENDING"
        return "FRESH" if self.next_pred is None else "PREDICTED"

    @property
    def history(self) -> list[int]:
        """Every token the caller received: `committed`, then the pending token. Render from this."""
        return self.committed + ([] if self.pending_tok is None else [self.pending_tok])

    @property
    def parked_tok(self) -> int | None:
        """The token of the last row, if a flush committed it."""
        return None if self.parked is None else self.parked.token

    @property
    def seed(self) -> int:
        """The session's own seed, for sampling without one: drawn once from the system."""
        if self._seed is None:
            self._seed = secrets.randbits(64)
        return self._seed

    @property
    def busy(self) -> bool:
        """Whether a call is running."""
        return self._busy.locked()

    def cache_max_ctx(self) -> int:
        """Rows the session may commit."""
        return self.engine.max_ctx

    def cache_len(self) -> int:
        """Rows the trunk's cache holds for this session; `len(committed)` unless the rows were evicted."""
        return len(self.committed) if self.slot is None else self.slot.length

    def room(self) -> int:
        """Rows left."""
        return self.engine.max_ctx - len(self.committed)

    def rewind_pos(self) -> int | None:
        """The latest rewind point, normally the last prompt's end, or None."""
        return self.points[-1].pos if self.points else None

    def rewind_points(self) -> list[int]:
        """Every retained rewind point, ascending."""
        return [point.pos for point in self.points]

    @property
    def books(self) -> Books:
        """What another session needs to go on where this one stands."""
        return Books.of(self)

    def take_up(self, books: Books) -> None:
        """Go on with the books of a session that is gone; see engine/books.py. Only before the first turn."""
        take_up(self, books)

    # -- what a caller may change between bursts -----------------------------------------------------------------

    def set_drafter(self, drafter: str | Drafter, draft_len: int | None = None) -> None:
        """Change the drafter and, if given, the most drafts a round (0 .. the engine's `max_draft_len`).

        The greedy text does not depend on either. Raises `DrafterMismatch` (nothing changed) or, while a burst runs,
        `SessionStateError`.
        """
        length = require_draft_len(self.draft_len if draft_len is None else draft_len, self.engine.max_draft_len)
        chosen = self.engine.make_drafter(drafter)
        with self.exclusive("set_drafter"):
            former = self.drafter, self.draft_len, self.drafter_ended
            self.drafter, self.draft_len, self.drafter_ended = chosen, length, False
            try:
                cold = self.start_drafter()
            except Exception:
                self.drafter, self.draft_len, self.drafter_ended = former
                raise
            if not cold:
                self._note_drafter("set", "")

    def close(self) -> None:
        """Give the rows back. Trace and telemetry stay readable; every other call raises `SessionStateError`."""
        if self.engine.closed:
            self.closed = True
        if not self.closed:
            with self.exclusive("close"):
                self.closed = True
                self.engine.slots.release(self)
                self.drafter.release()
                self.points.clear()
                self.last_h = self.last_logits = self.tail = None

    # -- what the engine's own files use -------------------------------------------------------------------------

    @contextmanager
    def exclusive(self, call: str, *, allow_failed: bool = True) -> Iterator[None]:
        """One call at a time: guards state, checks invariants after, records what failed.

        Raises `SessionStateError` if another call runs, the session is closed, or it is FAILED and the call needs
        trusted caches.
        """
        if not self._busy.acquire(blocking=False):
            raise SessionStateError(
                f"{call} was called while another call runs on this session; wait for it or stop it first."
            )
        try:
            if self.closed:
                raise SessionStateError(
                    f"{call} was called on a closed session; make a new one with Engine.new_session."
                )
            if self.engine.closed:
                raise SessionStateError(f"{call} was called after the engine was closed; load it again.")
            if self.failed and not allow_failed:
                raise SessionStateError(
                    f"{call} needs caches that can be trusted, and an error left this session's in doubt; call "
                    "session.reprime() or spec_rewind_to_checkpoint first."
                )
            try:
                yield
            except ContextFull:
                raise  # a context event says so already, and it is no fault
            except Exception as error:
                self.trace.append(ErrorEvent(where=call, message=str(error), state=self.state))
                raise
            if self.engine.debug:
                self.check_invariants()
        finally:
            self._busy.release()

    def start_drafter(self) -> bool:
        """Start the drafter over at the rows as they are; whether that is a cold start, which the trace then says."""
        self.drafter.start(self.committed, self.last_h)
        cold = self.drafter.needs_hidden and bool(self.committed)
        if cold:
            self._note_drafter("cold", "It conditions on hidden states it has not seen, so it starts cold here.")
        return cold

    def _note_drafter(self, action: Literal["set", "cold"], why: str) -> None:
        self.trace.append(
            DrafterEvent(
                drafter=self.drafter.name,
                draft_len=self.draft_len,
                action=action,
                pos=len(self.committed),
                why=why,
            )
        )

    def extend(self, rows: Sequence[int]) -> None:
        """Commit `rows`, whose cache rows are written."""
        assert self.slot is not None
        self.committed.extend(rows)
        self.slot.truncate(len(self.committed))

    def emitted(self, count: int, rule: Rule, index: int) -> None:
        """Note how the next `count` tokens of the history were chosen, the first with draw counter `index`."""
        self.chosen.extend((rule, index + i) for i in range(count))

    def truncate(self, length: int) -> None:
        """Keep the first `length` rows everywhere but in the drafter. Predictions are the caller's to set."""
        assert 0 <= length <= len(self.committed)
        del self.committed[length:]
        del self.chosen[length:]
        if self.slot is not None:
            self.slot.truncate(length)
        self.points = [point for point in self.points if point.pos <= length]
        self.tail = self.parked = self.drawn = None

    def reprime(self) -> None:
        """Rebuild the rows from `committed`, in the state the session was in. Rows come back bit for bit."""
        from engine.prefill import reprime

        with self.exclusive("reprime"):
            reprime(self)

    def check_invariants(self) -> None:
        """Assert what must hold between calls; see engine/invariants.py."""
        check_invariants(self)
