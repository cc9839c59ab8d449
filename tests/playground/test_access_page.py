"""For who cannot see the page as it was drawn: an audit of every part, forced colours, zoom, no motion, 360 pixels."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.playground.audit import findings
from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp

pytestmark = pytest.mark.ui
OpenTab = Callable[..., Tab]
CUT = """
() => [...document.querySelectorAll(
  'button, label, h1, h2, h3, p, dt, dd, li, input, textarea, summary, code'
)].filter((node) => {
  const box = node.getBoundingClientRect();
  if (!box.width || !box.height || !node.checkVisibility({ visibilityProperty: true })) return false;
  if (node.closest('.ds-sr, .sr-only, .js-plotly-plot, [hidden], [aria-hidden=true]')) return false;
  if (getComputedStyle(node).position === 'absolute') return false;
  for (let at = node.parentElement; at; at = at.parentElement) {
    if (['auto', 'scroll'].includes(getComputedStyle(at).overflowX)) return false; // it can be scrolled to
  }
  return box.left < -1 || box.right > document.documentElement.clientWidth + 1;
}).map((node) => `${node.tagName} ${node.textContent.trim().slice(0, 40)}`)
"""


UNFOLD = """
() => {
  const heads = [...document.querySelectorAll('button.label-wrap:not(.open)')];
  const closed = heads.filter((node) => node.checkVisibility());
  closed.forEach((node) => node.click());
  document.querySelectorAll('details:not(.ds-save)').forEach((fold) => { fold.open = true; });
  return closed.length;
}
"""


def parts(page: Page) -> list[str]:
    """The names of the page's tabs."""
    return list(dict.fromkeys(name.strip() for name in page.locator("#workbench [role=tab]").all_inner_texts()))


def show(page: Page, name: str) -> None:
    """Turn to a tab, and open every section and fold in it."""
    page.locator("#workbench [role=tab]", has_text=name).filter(visible=True).first.click()
    page.wait_for_timeout(300)
    for _ in range(3):  # a section may hold others
        if page.evaluate(UNFOLD) == 0:
            break
        page.wait_for_timeout(200)


@pytest.fixture
def talked(fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tab]:
    """Opens a page with one short answer in it."""
    monkeypatch.setattr(fake_app.service.engine, "answer", 24)

    def open_page(theme: str = "light", **viewport: int) -> Tab:
        one = tab(f"{fake_app.url}?__theme={theme}", **viewport)
        one.send("hello you")
        one.expect_idle()
        return one

    return open_page


def test_an_audit_finds_nothing_serious_in_any_part_light_or_dark(talked: Callable[..., Tab]) -> None:
    page = talked().page
    page.emulate_media(reduced_motion="reduce")  # colours that are on their way to others are neither
    names = parts(page)
    assert {"Chat", "Race", "Sweep", "Models"} <= set(names)
    bad: list[str] = []
    for name in names:
        show(page, name)
        bad += findings(page)
        page.evaluate("() => document.body.classList.add('dark')")
        page.wait_for_timeout(100)
        bad += [f"dark: {text}" for text in findings(page, "color-contrast")]
        page.evaluate("() => document.body.classList.remove('dark')")
    page.get_by_role("button", name="Keyboard", exact=True).click()
    bad += findings(page)
    assert not bad, "\n".join(dict.fromkeys(bad))


def test_teeth_the_audit_sees_a_button_without_a_name_and_pale_text(fake_app: RunningApp, tab: OpenTab) -> None:
    page = tab(fake_app.url).page
    page.evaluate(
        "() => document.querySelector('#left').insertAdjacentHTML('beforeend', "
        "'<button id=mute></button><p style=\"color:#ccc;background:#fff\">pale</p>')"
    )
    found = findings(page)
    assert any(text.startswith("button-name at #mute") for text in found)
    assert any(text.startswith("color-contrast at ") for text in found)


def test_nothing_is_cut_or_scrolls_sideways_on_a_small_phone_or_at_200_percent(talked: Callable[..., Tab]) -> None:
    page = talked(width=360, height=740).page
    bad: list[str] = []
    for name in parts(page):
        for width, height in ((640, 450), (360, 740)):
            page.set_viewport_size({"width": width, "height": height})
            show(page, name)
            if page.evaluate("() => document.documentElement.scrollWidth") > width:
                bad.append(f"{name} at {width}: scrolls sideways")
            bad += [f"{name} at {width}: {text}" for text in page.evaluate(CUT)]
    assert not bad, "\n".join(bad)
    show(page, "Chat")
    page.get_by_role("button", name="Keyboard", exact=True).click()
    within(page.locator(".keys-dialog"), 360)
    page.keyboard.press("Escape")
    for menu in page.locator(".ds-save").filter(visible=True).all()[:3]:
        menu.locator("summary").click()
        within(menu.locator(".ds-menu"), 360)


def within(node: Locator, width: int) -> None:
    box = node.bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width, box


def test_forced_colours_keep_controls_marks_and_focus(fake_app: RunningApp, browser: Browser) -> None:
    context = browser.new_context(forced_colors="active", color_scheme="dark", reduced_motion="reduce")
    page = context.new_page()
    page.goto(fake_app.url)
    one = Tab(page)
    one.send("hello")
    one.expect_idle()
    edges = page.evaluate(
        """() => ['#send', '#shortcuts .keys-open', '#panels .ds-button', '#message textarea'].map((at) => {
            const { borderTopWidth, borderTopStyle, outlineStyle } = getComputedStyle(document.querySelector(at));
            return (parseFloat(borderTopWidth) > 0 && borderTopStyle !== 'none') || outlineStyle !== 'none';
        })"""
    )
    assert all(edges), edges
    marks = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('#tokens .ds-tokens [data-origin]')].map((node) => {
            const { textDecorationLine, textDecorationStyle, borderBottomStyle } = getComputedStyle(node);
            return [node.dataset.origin, `${textDecorationLine} ${textDecorationStyle} ${borderBottomStyle}`];
        }))"""
    )
    assert len(set(marks.values())) >= 3, f"origins are told apart by shape, not by colour alone: {marks}"
    kept = "(nodes) => nodes.every((node) => getComputedStyle(node).forcedColorAdjust === 'none')"
    assert page.locator("#panels .ds-legend .ds-swatch").evaluate_all(kept), "the key has the colours of the charts"
    page.locator("#send").focus()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle") != "none"
    context.close()


def test_nothing_moves_on_its_own_where_less_motion_is_wished(fake_app: RunningApp, browser: Browser) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(fake_app.url)
    one = Tab(page)
    one.send("hello")
    one.expect_running()
    moving = "() => document.getAnimations().filter((one) => one.playState === 'running').length"
    assert page.evaluate(moving) == 0
    one.expect_idle()
    expect(one.answers()).to_have_count(1)
    context.close()
