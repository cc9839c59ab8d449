"""What stands in a page's charts, tables and words, as plain values: read from Plotly's data, never from pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Trace = dict[str, Any]
Cells = list[dict[str, str]]

READ = """() => Object.fromEntries([...document.querySelectorAll('#panels [data-panel]')].map((panel) => {
  const plot = panel.querySelector('.js-plotly-plot'), layout = plot.layout;
  const texts = (nodes) => [...nodes].map((node) => node.textContent), heads = texts(panel.querySelectorAll('th'));
  const up = (bars) => bars?.array, down = (bars) => bars?.arrayminus;
  return [panel.dataset.panel, {
    traces: plot.data.map((t) => ({ name: t.name, x: t.x, y: t.y, z: t.z, base: t.base, hover: t.hovertext, x0: t.x0,
      up: up(t.error_y), down: down(t.error_y), symbol: t.marker?.symbol, scale: t.colorscale })),
    range: layout.xaxis.range, columns: layout.xaxis.ticktext, lanes: layout.yaxis.ticktext,
    shapes: layout.shapes ?? [], words: layout.annotations ?? [],
    table: [...panel.querySelectorAll('tbody tr')].map((row) => (
      Object.fromEntries(texts(row.cells).map((text, i) => [heads[i], text])))),
    label: panel.querySelector('.ds-chart').getAttribute('aria-label'),
    machine: panel.querySelector('.ds-machine-picture')?.getAttribute('aria-label') ?? '',
    notes: texts(panel.querySelectorAll('.ds-gain.for-engineer, .ds-now, .ds-counted, .ds-where')),
  }];
}))"""
SETTLED = "[...window.__draftscope.clock.views].every((view) => view.stale === false)"
SLIDE = """(place) => { const slider = document.querySelector('[data-panel=acceptance] .ds-slider');
  slider.value = String(place); slider.dispatchEvent(new Event('input')); }"""
FIGURES = """() => Object.fromEntries([...document.querySelectorAll('#kpi .ds-figure')].map((node) => (
  [node.dataset.figure, [node.querySelector('dd').textContent, node.querySelector('.ds-extra').textContent]])))"""
TITLES = """() => [...document.querySelectorAll('#tokens .ds-tokens .ds-token')].map((node) => (
  [Number(node.dataset.id), node.title]))"""
INK = """(names) => { const css = getComputedStyle(document.querySelector('#panels .ds-root'));
  return Object.fromEntries(names.map((name) => [name, css.getPropertyValue(`--ds-${name}`).trim()])); }"""
OPEN = """() => { document.querySelector('.ds-fold').open = true;
  const buttons = [...document.querySelectorAll('#panels .ds-tools .ds-button')];
  for (const button of buttons) if (button.textContent === 'Table') button.click(); }"""


@dataclass
class Panel:
    """One panel as it is drawn. `table` has a record a row, under the names of its columns."""

    traces: list[Trace]
    range: list[float]
    columns: list[str] | None
    lanes: list[str] | None
    shapes: list[dict[str, Any]]
    words: list[dict[str, Any]]
    table: Cells
    label: str
    machine: str
    notes: list[str]

    def trace(self, name: str, nth: int = 0) -> Trace:
        """The `nth` trace with this name. Fails where there is none."""
        found = [trace for trace in self.traces if trace["name"] == name]
        assert len(found) > nth, f"{name} is not among {[trace['name'] for trace in self.traces]}"
        return found[nth]


@dataclass
class Drawn:
    """Everything that a page draws of its session."""

    panels: dict[str, Panel]
    recent: dict[int, Panel]
    """The acceptance panel by the rounds that its slider was moved to."""
    figures: dict[str, list[str]]
    titles: list[tuple[int, str]]
    ink: dict[str, str]


def settle(page: Any) -> None:
    """Have everything drawn anew, whatever is out of sight, and wait for it."""
    page.evaluate("() => { window.__draftscope.clock.redraw(); window.__draftscope.clock.request(true); }")
    page.wait_for_function(SETTLED)


def panels(page: Any) -> dict[str, Panel]:
    settle(page)
    return {name: Panel(**said) for name, said in page.evaluate(READ).items()}


def read(page: Any, places: dict[int, int]) -> Drawn:
    """`places`: where the slider stands for so many rounds. It is put back to all of them."""
    page.evaluate(OPEN)
    page.wait_for_function("document.querySelectorAll('#panels .js-plotly-plot').length === 8")
    recent = {}
    for rounds, place in places.items():
        page.evaluate(SLIDE, place)
        recent[rounds] = panels(page)["acceptance"]
    page.evaluate(SLIDE, 7)
    names = ["accepted", "rejected", "bonus", "correction", "overshoot", "dropped", "idle"]
    return Drawn(panels(page), recent, page.evaluate(FIGURES), page.evaluate(TITLES), page.evaluate(INK, names))


def accept_line(page: Any, number: int, draft: int) -> str:
    """Look into a token of round `number`, then into its draft `draft`, both counted from 1: the line of its test."""
    token = next(i for i, (_, title) in enumerate(page.evaluate(TITLES)) if f"\nround {number}, " in title)
    page.locator("#tokens .ds-tokens .ds-token").nth(token).click()
    page.locator(f"[data-panel=inspector] button[data-column='{draft}']").click()
    page.locator("[data-panel=inspector] .ds-verdict").get_by_text(f"Draft {draft} ").wait_for()
    said = page.locator("[data-panel=inspector] .ds-test p.for-engineer").text_content()
    page.evaluate("window.__draftscope.pin.release()")
    return str(said)
