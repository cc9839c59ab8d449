"""One round in four stages: draft, verify, accept, commit (Leviathan et al. 2023, algorithm 1).

    drafts  = drafter.propose(pending)                  at most K
    logits  = trunk([pending, *drafts], padded)         one forward
    outcome = rule.accept(logits, drafts)               pure: argmax, accept tests or shared noise, by the rule
    rows of [pending, *accepted] stay; the last emitted token becomes the pending one

A stage may be run alone (a step mode does); `commit` is the only one that changes the session.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from engine.accept import Outcome, trim
from engine.alternatives import Recorder, alternatives
from engine.drafters.protocol import ChoosingDrafter, DeviceDrafter, Proposal
from engine.errors import DrafterMismatch
from engine.events import Alternatives, ContextEvent, DrafterEvent, RoundEvent
from engine.rules import GREEDY, Decision, DeviceChooser, DraftChooser, Rule
from engine.rules.read import Read
from engine.way_back import Tail

if TYPE_CHECKING:
    from engine.cuda.device_path import DevicePath
    from engine.cuda.host_read import Unchecked
    from engine.session import SpecSession
    from engine.trunk import TrunkOut


Stage = Literal["draft", "verify", "accept", "commit"]
OnStage = Callable[[Stage, "Round"], None]
Observer = Callable[[], OnStage | None]
"""Asked before a round who is told of its stages; a round that nobody looks into may leave its drafts on the device."""


class Round:
    """One round of a session whose pending token is set and which has room for at least one row."""

    def __init__(
        self, session: SpecSession, stop_ids: Collection[int], limit: int | None = None, rule: Rule = GREEDY
    ) -> None:
        """`limit`: most tokens to emit, the rest trimmed before the next forward; None keeps them all."""
        assert session.pending_tok is not None and session.slot is not None and session.room() >= 1
        self.session = session
        self.pending: int = session.pending_tok
        self.stop_ids = stop_ids
        self.limit = limit
        self.rule = rule
        self.context: list[int] = session.history if rule.needs_context else []
        self.drafts: list[int] = []
        self.chooser: DraftChooser | None = None
        self.width = 0
        self.decision: Decision | None = None
        self.trunk_top: tuple[Alternatives, ...] = ()
        self._out: TrunkOut | None = None
        self._proposal: Proposal | None = None
        self._unobserved = False
        self._begin = time.perf_counter()
        self._ms = {"draft": 0.0, "verify": 0.0, "accept": 0.0}

    def run(self, before: OnStage | None = None) -> RoundEvent:
        """All four stages; `before` is called ahead of each, and may look at what the ones before it left."""
        self._unobserved = before is None
        tell = before or (lambda stage, step: None)
        tell("draft", self)
        self.draft()
        tell("verify", self)
        self.verify()
        tell("accept", self)
        self.accept()
        tell("commit", self)
        return self.commit()

    def draft(self) -> list[int]:
        """Ask the drafter for at most K tokens, K clamped by the room left. Raises DrafterMismatch on a bad id.

        In a whole round on a device path they may stay there until they are accepted; the list is empty till then.
        """
        clock = time.perf_counter()
        session = self.session
        most = min(session.draft_len, session.engine.width - 1, session.room() - 1)
        if most < session.draft_len:
            session.trace.append(
                ContextEvent(action="clamped", used=len(session.committed), max_ctx=session.engine.max_ctx)
            )
        if most > 0 and not self._past_drafter_context():
            vocab = session.engine.trunk.vocab_rows
            drafts = self._propose(most, vocab)
            bad = next((d for d in drafts if not 0 <= d < vocab), None)
            if bad is not None:
                raise DrafterMismatch(
                    f"Drafter {session.drafter.name} proposed token id {bad}, and the model has {vocab}; "
                    "choose another drafter."
                )
            self.drafts = drafts
        self._ms["draft"] = (time.perf_counter() - clock) * 1e3
        return self.drafts

    def verify(self) -> None:
        """One trunk forward from the last committed row, of the narrowest width that holds pending and drafts."""
        clock = time.perf_counter()
        session = self.session
        assert session.slot is not None
        columns, unread = [self.pending, *self.drafts], None if self._proposal is None else self._proposal.ids
        count = len(columns) + (0 if unread is None else len(unread))
        self.width = session.engine.widths.round_width(count)
        slot, start, path = session.slot, len(session.committed), session.engine.device_path
        if path is None:
            self._out = session.engine.trunk.forward(slot, start, columns, self.width, keep=range(count))
        else:
            self._out = path.forward(slot, start, columns, self.width, keep=range(count), drafts=unread)
        self._ms["verify"] = (time.perf_counter() - clock) * 1e3

    def accept(self) -> Outcome:
        """Decide what is emitted and which rows stay."""
        clock = time.perf_counter()
        session, out = self.session, self._out
        assert out is not None
        drafts = self.drafts if self._proposal is None else self._proposal.ids
        reading = () if session.engine.device_path is None else (self._read(session.engine.device_path),)
        decision = self.rule.accept(
            out.logits, self.context, drafts, self.chooser, session.sctr, session.uctr, self.stop_ids, *reading
        )
        if self._proposal is not None:
            assert decision.drafted is not None and isinstance(session.drafter, DeviceDrafter)
            self.drafts = list(decision.drafted)
            session.drafter.learned(self.drafts)
        if self.limit is not None:
            decision = self._trim(decision, self.limit)
        self.decision = decision
        if session.alternatives:
            asked = decision.outcome.accepted  # nobody asked what follows a rejected draft, and shaping a row costs
            rows = self.rule.scores(out.logits[: asked + 1], self.context, self.drafts[:asked])
            self.trunk_top = alternatives(rows, session.alternatives)
        self._ms["accept"] = (time.perf_counter() - clock) * 1e3
        return decision.outcome

    def commit(self) -> RoundEvent:
        """Move the session to after the round and append its event. A failure here leaves it FAILED."""
        session, decision, out = self.session, self.decision, self._out
        assert decision is not None and out is not None and session.slot is not None
        outcome, counters = decision.outcome, (session.sctr, session.uctr)
        before = len(session.committed)
        rows = [self.pending, *self.drafts][: outcome.rows]
        session.failed = True  # until every part has moved
        session.drafter.truncate(before, session.last_h)  # its own guesses; the true rows follow
        session.extend(rows)
        session.emitted(len(outcome.tokens), self.rule, session.sctr)
        self._predict(outcome)
        session.sctr, session.uctr = session.sctr + decision.draws, session.uctr + len(decision.test_u)
        session.last_h = out.hidden[len(rows) - 1].clone()
        session.tail = Tail(before, outcome.tokens, out.logits, out.hidden)
        session.drafter.observe(rows, out.hidden[: len(rows)] if session.drafter.needs_hidden else None)
        session.telem.record(len(self.drafts), outcome.accepted, len(outcome.tokens))
        session.failed = False
        total = (time.perf_counter() - self._begin) * 1e3
        return session.trace.append(
            RoundEvent(
                turn=session.turn,
                burst=session.bursts,
                round=session.telem.rounds - 1,
                pos=before,
                pending=self.pending,
                drafted=tuple(self.drafts),
                accepted=outcome.accepted,
                bonus=outcome.bonus,
                emitted=len(outcome.tokens),
                width=self.width,
                drafter=session.drafter.name,
                draft_ms=self._ms["draft"],
                verify_ms=self._ms["verify"],
                accept_ms=self._ms["accept"],
                host_ms=total - sum(self._ms.values()),
                trimmed=outcome.trimmed,
                room=session.engine.max_ctx - before,
                mode=self.rule.mode,
                sctr=counters[0],
                draws=decision.draws,
                uctr=counters[1],
                test_p=decision.test_p,
                test_q=decision.test_q,
                test_u=decision.test_u,
                trunk_top=self.trunk_top,
                draft_top=tuple(self.chooser.noted) if isinstance(self.chooser, Recorder) else (),
                graphed=out.graphed,
            )
        )

    def _propose(self, most: int, vocab: int) -> list[int]:
        """The drafter's guesses, chosen by the rule where the drafter has probabilities."""
        session, drafter = self.session, self.session.drafter
        if isinstance(drafter, ChoosingDrafter):
            self.chooser = self.rule.draft_chooser(self.context, session.sctr, session.draft_cut, vocab)
            if session.alternatives:
                self.chooser = Recorder(self.chooser, self.rule, self.context, session.alternatives)
            if self._stays_on_device(most):
                return []
            if self.chooser is not None:
                return drafter.propose_by(self.chooser, self.pending, most, session.last_h)
        return drafter.propose(self.pending, most, session.last_h)[:most]

    def _stays_on_device(self, most: int) -> bool:
        """Let the drafter leave its drafts on the device, where nobody looks at them before they are accepted."""
        session, drafter, chooser = self.session, self.session.drafter, self.chooser
        if not self._unobserved or session.engine.device_path is None or not isinstance(drafter, DeviceDrafter):
            return False
        if chooser is not None and not isinstance(chooser, DeviceChooser):
            return False
        self._proposal = drafter.propose_on_device(None if chooser is None else chooser.on_device, self.pending, most)
        return self._proposal is not None

    def _read(self, path: DevicePath) -> Read:
        """What brings the round's numbers to the host at one time, the checks of its forwards included."""
        session = self.session
        assert self._out is not None and session.slot is not None
        checks: list[Unchecked] = [] if self._proposal is None else list(self._proposal.checks)
        return path.reader([*checks, path.unchecked(self._out, session.slot, len(session.committed))], self._out)

    def _trim(self, decision: Decision, limit: int) -> Decision:
        """Drop what passes `limit`. An index of the coupled rule is used by the token that stays at its place."""
        outcome = trim(decision.outcome, limit)
        unused = len(outcome.trimmed) if self.rule.mode == "coupled" else 0
        return replace(decision, outcome=outcome, draws=decision.draws - unused)

    def _predict(self, outcome: Outcome) -> None:
        """What follows the last row: the pending token, or after a trim a prediction and the row it comes from."""
        session, out = self.session, self._out
        assert out is not None
        session.pending_tok, session.drawn = outcome.pending, None
        session.next_pred = session.last_logits = None
        if outcome.next_pred is not None:
            session.last_logits = out.logits[outcome.rows - 1]
            session.next_pred = int(session.last_logits.argmax())
            if self.rule.mode == "rejection":
                session.drawn = (self.rule, outcome.next_pred)

    def _past_drafter_context(self) -> bool:
        """Whether the drafter's own context has ended; says so in the trace the first time."""
        session, limit = self.session, self.session.drafter.max_ctx
        if limit is None or len(session.committed) < limit:
            return False
        if not session.drafter_ended:
            session.drafter_ended = True
            session.trace.append(
                DrafterEvent(
                    drafter=session.drafter.name,
                    draft_len=session.draft_len,
                    action="limit",
                    pos=len(session.committed),
                    why=f"Its context ends at {limit} tokens; rounds go on without drafts.",
                )
            )
        return True
