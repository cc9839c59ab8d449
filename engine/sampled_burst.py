"""`generate_spec_session_sampled`: a burst whose tokens are draws from the trunk's filtered distribution."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal

from engine.burst import run_burst
from engine.burst_run import Burst, OnTokens, Overshoot
from engine.errors import EngineError
from engine.rules import CoupledRule, GreedyRule, RejectionRule, Rule
from engine.sampling import SamplingParams

if TYPE_CHECKING:
    from engine.session import SpecSession

Verify = Literal["rejection", "coupled"]


def generate_spec_session_sampled(
    session: SpecSession,
    suffix: Sequence[int],
    max_new: int,
    sampling: SamplingParams,
    *,
    verify: Verify = "rejection",
    overshoot: Overshoot = "keep",
    stop_ids: Collection[int] | None = None,
    ignore_eos: bool = False,
    checkpoint_at: int | None = None,
    on_tokens: OnTokens | None = None,
) -> Burst:
    """As `generate_spec_session`, sampled.

    Args:
        sampling: temperature 0 is the greedy burst, with penalties if there are any.
        verify: `rejection` is exact in distribution: every token is a draw from the trunk's filtered distribution, and
            one seed gives one stream however it is cut into bursts. `coupled` is exact in stream: the tokens are those
            of plain sampling with that seed, whatever the drafter and K; it accepts less.
    """
    return run_burst(
        session,
        suffix,
        max_new,
        overshoot=overshoot,
        stop_ids=stop_ids,
        ignore_eos=ignore_eos,
        checkpoint_at=checkpoint_at,
        on_tokens=on_tokens,
        rule=rule_for(session, sampling, verify),
    )


def rule_for(session: SpecSession, sampling: SamplingParams, verify: str) -> Rule:
    """The rule of these settings; without a seed the session's own. Raises `EngineError` for an unknown mode."""
    check_sampling(sampling, verify, optional=False)
    if sampling.temperature == 0:
        return GreedyRule.of(sampling)
    seed = session.seed if sampling.seed is None else sampling.seed
    return RejectionRule(sampling, seed) if verify == "rejection" else CoupledRule(sampling, seed)


def check_sampling(sampling: object, verify: object, *, optional: bool = True) -> None:
    """Raise `EngineError` unless these are settings, or where that is allowed None, and a known mode."""
    if verify not in ("rejection", "coupled"):
        raise EngineError(f"verify must be 'rejection' or 'coupled', got {verify!r}.")
    if not isinstance(sampling, SamplingParams) and not (optional and sampling is None):
        raise EngineError(f"sampling must be SamplingParams, got {type(sampling).__name__}.")
