"""A session that is played with, and the account of everything it emitted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import cycle, islice

from engine import (
    Burst,
    SamplingParams,
    SpecSession,
    generate_spec_session,
    generate_spec_session_sampled,
    spec_flush_pending,
    spec_rewind_to_checkpoint,
)
from engine.rewind import reset
from tests.engine.sampling.account import Account, Choice, require_sound_counters
from tests.engine.sampling.table_trunk import TRUNK, VOCAB, TableEngine, table_drafter


class Play:
    """Bursts of one session; `choices` are all its tokens, in the order they were emitted."""

    def __init__(self, session: SpecSession, verify: str = "rejection") -> None:
        self.session = session
        self.verify = verify
        self.account = Account()
        self.choices: list[Choice] = []

    def burst(self, sampling: SamplingParams | None, suffix: Sequence[int], max_new: int, **options) -> Burst:
        """One burst, greedy without settings; its events are read, and must tell what it returned."""
        session, since = self.session, self.session.trace.next_seq
        before = [*session.history, *suffix]
        options = {"ignore_eos": "stop_ids" not in options} | options
        if sampling is None:
            out = generate_spec_session(session, suffix, max_new, **options)
        else:
            out = generate_spec_session_sampled(session, suffix, max_new, sampling, verify=self.verify, **options)
        new = self.account.read(session.trace.since(since), before, suffix=bool(suffix))
        assert [choice.token for choice in new] == out.tokens
        if out.tokens:
            assert session.history == [*before, *out.tokens]
        self.choices += new
        return out

    def require_sound(self) -> None:
        """The counters' gate on the whole life of the session."""
        assert not self.session.trace.dropped
        require_sound_counters(list(self.session.trace), self.session.sctr, self.session.uctr)


def episodes(
    drafter: str,
    sampling: SamplingParams,
    count: int,
    *,
    k: int = 3,
    verify: str = "rejection",
    cut: float = 0.0,
    seed: int = 0,
) -> Play:
    """`count` short conversations of one session on the table trunk, each with every kind of boundary in it."""
    engine = TableEngine(TRUNK, max_ctx=120)
    session = engine.new_session(table_drafter(drafter), k)
    session.draft_cut = cut
    play, rng = Play(session, verify), random.Random(seed)
    other = SamplingParams(temperature=sampling.temperature, top_k=VOCAB, seed=sampling.seed)
    for budgets in islice(cycle([(1, 3, 2, 2), (2, 1, 4, 3), (4, 2, 1, 5)]), count):
        suffix = [rng.randrange(VOCAB) for _ in range(rng.randint(2, 4))]
        play.burst(sampling, suffix, budgets[0])
        play.burst(sampling, [], budgets[1])
        spec_flush_pending(session)
        play.burst(sampling, [], budgets[2])
        play.burst(sampling, [], 2, overshoot="trim")
        play.burst(sampling, [], budgets[3])  # begins with the token that was trimmed
        play.burst(other, [], 2, overshoot="trim")
        play.burst(sampling, [], 1)  # begins with a draw: another rule trimmed
        spec_rewind_to_checkpoint(session)
        play.burst(sampling, [], 2)
        play.burst(sampling, suffix[:1], 1)
        reset(session)
    play.choices = [choice for choice in play.choices if choice.setting.params == sampling]
    return play
