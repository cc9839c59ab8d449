"""What drawing the panels costs, in Chromium, against four bare charts of their size drawn in the same page.

A ratio holds on a slow or busy machine too, where milliseconds do not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.playground.panels_demo import Demo

pytestmark = pytest.mark.ui
FOUR = ["fate", "length", "acceptance", "pending"]
SCRIPT = Path(__file__).parent / "panel_speed.js"


def filled(visit: Any, rounds: int) -> Any:
    page = visit(Demo()).page
    page.add_script_tag(path=SCRIPT)
    return fill(page, rounds)


def fill(page: Any, rounds: int) -> Any:
    page.evaluate("(n) => window.panelSpeed.fill(n)", rounds)
    where = "document.querySelector('[data-panel=fate] .ds-where')"
    page.wait_for_function(f"{where}.textContent.endsWith('of {rounds}')")
    return page


def test_four_panels_cost_a_few_bare_charts_and_little_more_after_ten_thousand_rounds(
    visit: Any, record_property: Any
) -> None:
    page, ratios = filled(visit, 200), []
    for rounds in (200, 10_000):
        cost = fill(page, rounds).evaluate("(names) => window.panelSpeed.cost(names)", FOUR)
        assert len(cost["ours"]) == len(FOUR)
        ratios.append(sum(cost["ours"]) / sum(cost["bare"]))
        record_property(f"{rounds} rounds", f"{sum(cost['ours']):.0f} ms, {ratios[-1]:.2f} times bare charts")
    assert ratios[0] < 4, ratios
    assert ratios[1] < 1.8 * ratios[0], ratios


def test_a_draw_of_all_panels_lets_the_page_answer_in_between(visit: Any, record_property: Any) -> None:
    took = filled(visit, 10_000).evaluate("() => window.panelSpeed.stretch()")
    record_property("longest", f"panel {took['longest']:.0f} ms, without a pause {took['worst']:.0f} ms")
    assert took["longest"] > 0
    assert took["worst"] < 40 + 1.5 * took["longest"], "panels for 40 ms, then at most one more"
