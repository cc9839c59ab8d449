"""Random numbers are used once: the trace accounts for every value, and every choice can be made again from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

import engine.burst
import engine.draws
import engine.rules.rejection as rejection
from engine import SamplingParams, spec_rewind_to_checkpoint
from engine.events import ContextEvent, RewindEvent, RoundEvent
from engine.rules import CoupledRule, RejectionRule
from tests.engine.sampling.play import Play
from tests.engine.sampling.replay import require_reproducible
from tests.engine.sampling.table_trunk import TRUNK, TableEngine, table_drafter
from tests.engine.sampling.walks import OPERATIONS, walk

PLACES = ("first", "again", "resume", "edge", "unparked", "column", "bonus")


@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize("modes", [("rejection",), ("coupled",), ("rejection", "coupled")])
def test_no_value_is_used_twice_in_a_sessions_life_and_every_choice_can_be_made_again(modes, device):
    """On the CPU's way and on a device's, where the drafts of a round are read together with its verdict."""
    seen: Counter[str] = Counter()
    for seed in range(6):
        for walker in walk(seed, 110, modes, device=device):
            play = walker.play
            play.require_sound()
            require_reproducible(play.choices)
            trace, path = play.session.trace, play.session.engine.device_path
            assert not device or path.reads > 30
            seen += walker.seen
            seen.update(f"{choice.setting.mode} {choice.place}" for choice in play.choices)
            seen.update(f"rewind {event.cause}" for event in trace.of(RewindEvent))
            seen.update(f"rows {event.action}" for event in trace.of(ContextEvent))
            seen.update("stop among drafts" for e in trace.of(RoundEvent) if e.mode == "rejection" and e.bonus is None)
            seen.update("trimmed round" for e in trace.of(RoundEvent) if e.trimmed)
    wanted = {f"{mode} {place}" for mode in modes for place in PLACES} | {"trimmed round", "full"}
    wanted |= {f"rewind {cause}" for cause in ("checkpoint", "stop", "overshoot", "unpark", "clear")}
    wanted |= {f"ended by {reason}" for reason in ("stop", "length", "cancelled", "context")}
    wanted |= {"rows evicted", "rows reprimed", "greedy edge", *OPERATIONS}
    wanted |= {"rejection kept", "stop among drafts"} if "rejection" in modes else set()
    assert not wanted - set(seen), f"the walks never saw {wanted - set(seen)}"


# -- teeth -------------------------------------------------------------------------------------------------------------

WARM = SamplingParams(temperature=1.1, seed=5)


def life(verify: str, *, reset: bool = False) -> Play:
    """Turns, continuations and a rewind; with `reset` the rewind takes the counters along."""
    play = Play(TableEngine(TRUNK).new_session(table_drafter("table"), 4), verify)
    for suffix, new in (([1, 2], 6), ([], 5), ([3], 8)):
        play.burst(WARM, suffix, new)
    spec_rewind_to_checkpoint(play.session)
    if reset:
        play.session.sctr, play.session.uctr = 0, 0
    for suffix, new in (([], 7), ([], 4), ([4], 9)):
        play.burst(WARM, suffix, new)
    return play


@pytest.mark.parametrize("verify", ["rejection", "coupled"])
def test_a_plain_life_passes(verify):
    play = life(verify)
    play.require_sound()
    require_reproducible(play.choices)


@pytest.mark.parametrize("verify", ["rejection", "coupled"])
def test_counters_that_a_rewind_resets_are_noticed(verify):
    play = life(verify, reset=True)
    with pytest.raises(AssertionError, match="does not begin where the last one ended"):
        play.require_sound()


def of_coupled(monkeypatch, draws):
    """Coupled rounds that move the index by `draws(decision, drafts)`."""
    real = CoupledRule.accept

    def accept(self, logits, context, drafts, *args):
        decision = real(self, logits, context, drafts, *args)
        return replace(decision, draws=draws(decision, drafts))

    monkeypatch.setattr(CoupledRule, "accept", accept)


def test_an_index_that_does_not_move_is_noticed(monkeypatch):
    of_coupled(monkeypatch, lambda decision, drafts: 0)
    with pytest.raises(AssertionError, match="one index per emitted token"):
        life("coupled").require_sound()


def test_an_index_that_moves_by_what_was_drafted_is_noticed(monkeypatch):
    of_coupled(monkeypatch, lambda decision, drafts: len(drafts) + 1)
    with pytest.raises(AssertionError, match="one index per emitted token"):
        life("coupled").require_sound()


def test_a_draw_that_is_not_counted_is_noticed(monkeypatch):
    """After a rejected draft the last draw is left out of the count, so the next round uses its value again."""
    real = RejectionRule.accept

    def accept(self, *args):
        decision = real(self, *args)
        lost = decision.outcome.accepted < len(args[2])
        return replace(decision, draws=decision.draws - lost)

    monkeypatch.setattr(RejectionRule, "accept", accept)
    with pytest.raises(AssertionError):
        life("rejection").require_sound()


def test_a_first_draw_that_is_not_counted_is_noticed(monkeypatch):
    def forgetful(session, rule, token, cause):
        before = session.sctr
        engine.draws.note_draw(session, rule, token, cause)
        session.sctr = before

    monkeypatch.setattr(engine.burst, "note_draw", forgetful)
    with pytest.raises(AssertionError, match="does not begin where the last one ended"):
        life("rejection").require_sound()


def test_numbers_of_other_counters_than_the_trace_says_are_noticed(monkeypatch):
    real = RejectionRule._uniforms

    def shifted(self, role, first, count, device):
        return real(self, role, first + (role == rejection.Role.ACCEPT), count, device)

    monkeypatch.setattr(RejectionRule, "_uniforms", shifted)
    with pytest.raises(AssertionError, match="not the number that the counter stands for"):
        require_reproducible(life("rejection").choices)


def test_two_roles_that_share_a_stream_are_noticed(monkeypatch):
    real = RejectionRule._uniforms

    def shared(self, role, first, count, device):
        return real(self, rejection.Role.TARGET_DRAW, first, count, device)

    monkeypatch.setattr(RejectionRule, "_uniforms", shared)
    with pytest.raises(AssertionError):
        require_reproducible(life("rejection").choices)


def test_a_verdict_against_its_test_is_noticed(monkeypatch):
    """The first draft of a round is always taken."""
    pick = rejection.pick

    def generous(name, device):
        real = pick(name, device)
        if name != "rejection_walk":
            return real
        return lambda p, ids, q, u, last: real(p, ids, q, u * 0, last)

    monkeypatch.setattr(rejection, "pick", generous)
    with pytest.raises(AssertionError, match="a verdict that its test denies"):
        require_reproducible(life("rejection").choices)
