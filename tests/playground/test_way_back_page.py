"""Rewind points chosen in the panels, in Chromium: a click or a button selects one under 'Go back', which then goes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.ui
POINT = "#rewind_point input"
LENGTH = "[data-panel=length]"


def two_turns(one):
    for text in ("first", "second"):
        one.send(text)
        one.expect_idle()
    expect(one.page.locator(f"{LENGTH} [data-back]").first).to_be_enabled(timeout=10_000)


def test_a_point_clicked_in_the_chart_is_selected_under_go_back_and_goes(fake_app, tab) -> None:
    one = tab(fake_app.url, width=1440, height=1000)
    two_turns(one)
    point = one.page.locator(f"{LENGTH} .js-plotly-plot .scatterlayer path.point")
    first = int(one.page.locator(f"{LENGTH} [data-back]").first.get_attribute("data-back"))
    one.page.locator(f"{LENGTH} .ds-plot").scroll_into_view_if_needed()
    one.page.wait_for_timeout(300)
    # The markers of the trace of rewind points, in its order.
    index = one.page.evaluate(
        f"""() => document.querySelector('{LENGTH} .js-plotly-plot').data.findIndex((t) => t.name === 'rewind point')"""
    )
    assert index >= 0 and point.count()
    box = one.page.evaluate(
        """([panel, index]) => {
            const plot = document.querySelector(`${panel} .js-plotly-plot`), trace = plot.data[index];
            const { xaxis, yaxis } = plot._fullLayout, { left, top } = plot.getBoundingClientRect();
            const [x, y] = [trace.x[0], trace.y[0]];
            return [left + xaxis._offset + xaxis.d2p(x), top + yaxis._offset + yaxis.d2p(y), y];
        }""",
        [LENGTH, index],
    )
    assert box[2] == first
    one.page.mouse.move(box[0], box[1])
    one.page.wait_for_timeout(300)
    one.page.mouse.click(box[0], box[1])
    expect(one.page.locator(POINT)).to_have_value(re.compile(rf": {first} rows$"), timeout=10_000)
    expect(one.page.locator("#rewind")).to_be_focused(timeout=10_000)
    one.page.keyboard.press("Enter")
    one.expect_idle()
    expect(one.questions()).to_have_count(1, timeout=10_000)


def test_the_buttons_do_the_same_by_keyboard_and_what_is_gone_is_said(fake_app, tab) -> None:
    one = tab(fake_app.url)
    two_turns(one)
    last = one.page.locator(f"{LENGTH} [data-back]").last
    pos = int(last.get_attribute("data-back"))
    last.focus()
    one.page.keyboard.press("Enter")
    expect(one.page.locator(POINT)).to_have_value(re.compile(rf": {pos} rows$"), timeout=10_000)
    fake_app.service.registry.get(one.sid).chat.session.points.clear()
    one.page.locator(f"{LENGTH} [data-back]").first.click()
    expect(one.page.locator("#refusal")).to_contain_text("There is no rewind point at", timeout=10_000)
