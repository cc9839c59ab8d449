"""The checks of what is drawn have teeth: in a page whose scripts are broken, they fail, each on its own break."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from playground.panels import figure_assets, panel_assets, token_assets
from tests.playground import drawn_state_checks as state_checks
from tests.playground.drawn_checks import ACCEPTANCE, Told
from tests.playground.drawn_page import Drawn, accept_line, read
from tests.playground.drawn_session import Rich
from tests.playground.panels_demo import PLOTLY_JS
from tests.playground.test_panels_drawn_page import CHECKS

pytestmark = pytest.mark.ui
LAST = 20
Break = tuple[tuple[str, ...], str, str]
KNOWN: tuple[Break, ...] = (
    (("band",), "[Math.max(0, middle - half), Math.min(1, middle + half)]", "[0, 1]"),
    (("recent",), "recent ? countRecent(recent) : store.state.a;", "store.state.a;"),
    (("per_round",), "map((k) => share(k, counts.n))", "map((k, i) => share(k, counts.tested[i]))"),
    (("overshoot_bars", "overshoot_share"), "fates.split(code).length - 1", "Number(fates.includes(code))"),
    (("drops",), "rewindLine(rewinds, colours), heldLine", "rewindLine([], colours), heldLine"),
    (("speed", "tokens_of_rounds"), "fate !== '0' : isKept(fate)", "fate !== '0' : true"),
    (("accept_lines",), "${number(test.p)}, q = ${number(test.q)}", "${number(test.q)}, q = ${number(test.p)}"),
    (("titles",), "accept test: p = ${p}, q = ${q},", "accept test: p = ${q}, q = ${p},"),
)
"""The checks that fail, and what is replaced by what. All but the last went unnoticed before there were checks."""
THE_REST: tuple[Break, ...] = (
    (("fate_cells",), "grid[rows][column] = Number(fates[drafts]);", "grid[rows][column] = Number(fates[0]);"),
    (("fate_table",), "FATES[Number(row.fates.at(-1))]?.name", "FATES[Number(row.fates.at(0))]?.name"),
    (("committed_length",), "[row.r, row.length, `round", "[row.r, row.pos, `round"),
    (("points_and_turns",), "y: points.map((m) => m[2])", "y: points.map((m) => m[2] + 1)"),
    (("past_budget",), "mark[1] === 'over');", "mark[1] === 'over' && mark[4] === 'kept');"),
    (("carry_lanes",), "const lane = LANES.indexOf(", "const lane = TRANSITIONS.indexOf("),
    (("states",), "const source = 5 + (sources.get(row.r) ?? 0)", "const source = 5"),
    (("moves",), " - (g['PENDING>trim>PREDICTED'] ?? 0)", ""),
    (("stages",), "y: near.map((row) => row.ms[i])", "y: near.map((row) => row.ms[3 - i])"),
    (("given_reached",), "share(k, counts.tested[i])", "share(k, recent ? counts.tested[i] : counts.n)"),
    (("acceptance_table",), "shareCell(counts.accepted[i], counts.tested[i])", "counts.tested[i]"),
    (("counters",), "sctr: [row.sctr - skipped, next - skipped]", "sctr: [row.sctr, next]"),
    (("figures",), "setText(value, main);", "setText(value, rest[0] ?? main);"),
)

MOUNT = """({ parts, delta }) => {
  delete window.__draftscope;
  document.body.replaceChildren(...parts.map(([id, html]) => (
    Object.assign(document.createElement('div'), { id, innerHTML: html }))));
  const server = { inspect: (asked) => window.askInspector(asked) };
  for (const [id, , script] of parts) {
    new Function('element', 'props', 'server', 'watch', 'trigger', script)(
      document.getElementById(id), { value: '' }, server, () => {}, () => {});
  }
  window.__draftscope.plain = PLAIN;
  window.__draftscope.ingest(delta);
}"""


@pytest.fixture(scope="module")
def played() -> Rich:
    demo = Rich(interval=0)
    assert list(demo.run())
    return demo


@pytest.fixture
def bare(browser: Any, played: Rich) -> Iterator[Any]:
    """An empty page with Plotly in it, and someone to answer the inspector."""
    page = browser.new_page(viewport={"width": 1800, "height": 900})
    page.add_script_tag(path=PLOTLY_JS)
    page.expose_function("askInspector", played.looks()[0])
    yield page
    page.close()


def broken(breaks: tuple[Break, ...]) -> list[tuple[str, str, str]]:
    """The scripts of the three components with these breaks; each must still find what it replaces."""
    assets = (figure_assets(), panel_assets(), token_assets())
    parts = [(asset.elem_id, asset.html_template, asset.js_on_load) for asset in assets]
    for checks, old, new in breaks:
        found = [script.count(old) for _, _, script in parts]
        assert max(found) == 1, f"{checks}: {old} is in the scripts {found} times"
        parts = [(name, html, script.replace(old, new)) for name, html, script in parts]
    return parts


def failing(drawn: Drawn, lines: dict[tuple[int, int], str], told: Told) -> set[str]:
    """Names of the checks that do not pass."""
    calls: dict[str, tuple[Any, ...]] = {check.__name__: (check, drawn, told) for check in CHECKS}
    panel, recent = drawn.panels["acceptance"], drawn.recent[LAST]
    calls |= {check.__name__: (check, panel, told.rounds) for check in ACCEPTANCE}
    calls["recent"] = (ACCEPTANCE[2], recent, told.rounds[-LAST:])
    calls["accept_lines"] = (state_checks.accept_lines, lines, told)
    return {name for name, (check, *given) in calls.items() if fails(check, *given)}


def fails(check: Any, *given: Any) -> bool:
    try:
        check(*given)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("breaks", [KNOWN, THE_REST], ids=["known", "rest"])
def test_each_check_fails_on_its_own_break_and_on_no_other(breaks: tuple[Break, ...], bare: Any, played: Rich) -> None:
    delta = played.feed.full(played.session.status(running=False))
    bare.evaluate(MOUNT.replace("PLAIN", str(state_checks.PLAIN)), {"parts": broken(breaks), "delta": delta})
    drawn = read(bare, {LAST: 1})
    told = Told(played.events(), played.session.status(running=False))
    lines = {place: accept_line(bare, *place) for place in state_checks.drafts_to_look_at(told)}
    assert failing(drawn, lines, told) == {check for checks, _, _ in breaks for check in checks}
