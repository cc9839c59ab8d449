"""What the panels draw, in Chromium: every number in chart, table and words is the trace's, as an oracle reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.playground import drawn_checks as checks
from tests.playground import drawn_state_checks as state_checks
from tests.playground.drawn_checks import ACCEPTANCE, Told
from tests.playground.drawn_page import Drawn, accept_line, read
from tests.playground.drawn_session import Rich
from tests.playground.panel_visits import DONE, Visit

pytestmark = pytest.mark.ui
SLIDER = {10: 0, 20: 1, 50: 2}
"""Rounds counted, by the slider's place."""
Check = Callable[[Drawn, Told], None]
CHECKS: tuple[Check, ...] = (
    checks.fate_cells,
    checks.fate_table,
    checks.committed_length,
    checks.drops,
    checks.points_and_turns,
    checks.past_budget,
    state_checks.overshoot_bars,
    state_checks.overshoot_share,
    state_checks.carry_lanes,
    state_checks.states,
    state_checks.moves,
    state_checks.stages,
    state_checks.speed,
    state_checks.tokens_of_rounds,
    state_checks.counters,
    state_checks.figures,
    state_checks.titles,
)


@pytest.fixture(scope="module")
def rich(browser: Any) -> Iterator[tuple[Visit, Rich]]:
    """The page, at rest after the whole session came in over the wire."""
    demo = Rich(interval=0.002)
    at = Visit(browser, demo, width=2400)  # every round is in sight
    at.page.click("#run")
    at.page.wait_for_function(DONE, timeout=60_000)
    at.page.evaluate("(plain) => { window.__draftscope.plain = plain; }", state_checks.PLAIN)
    yield at, demo
    at.close()


@pytest.fixture(scope="module")
def told(rich: tuple[Visit, Rich]) -> Told:
    _, demo = rich
    return Told(demo.events(), demo.session.status(running=False))


@pytest.fixture(scope="module")
def drawn(rich: tuple[Visit, Rich]) -> Drawn:
    at, _ = rich
    return read(at.page, SLIDER)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_is_what_the_trace_says(check: Check, drawn: Drawn, told: Told) -> None:
    check(drawn, told)


@pytest.mark.parametrize("check", ACCEPTANCE, ids=lambda check: check.__name__)
def test_acceptance_by_position_of_all_and_of_the_last_rounds(check: Any, drawn: Drawn, told: Told) -> None:
    check(drawn.panels["acceptance"], told.rounds)
    for count, panel in drawn.recent.items():
        check(panel, told.rounds[-count:])
        assert panel.notes == [f"last {count} rounds"]


def test_the_inspector_says_the_accept_test_of_a_kept_and_of_a_rejected_draft(
    rich: tuple[Visit, Rich], told: Told
) -> None:
    at, _ = rich
    lines = {place: accept_line(at.page, *place) for place in state_checks.drafts_to_look_at(told)}
    state_checks.accept_lines(lines, told)
    assert at.complaints == []
