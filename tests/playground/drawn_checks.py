"""Each chart, table and line of words against the oracle. A check says one thing, so that what it fails on is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from engine import events as ev
from playground.panels.status import LiveStatus
from tests.playground import drawn_oracle as oracle
from tests.playground.drawn_page import Drawn, Panel

near = pytest.approx


@dataclass
class Told:
    """What happened, and the reading that went with it."""

    events: Sequence[ev.Event]
    status: LiveStatus

    @property
    def rounds(self) -> list[ev.RoundEvent]:
        return oracle.rounds(self.events)

    @property
    def fates(self) -> list[list[str]]:
        return oracle.fates(self.events)


def whole(value: Any) -> float:
    return -1 if value is None else value


def in_percent(k: int, n: int) -> str:
    return f"{100 * k / n:.0f}%" if n else "—"


def fate_cells(drawn: Drawn, told: Told) -> None:
    """Name and id under the pointer, the code, the painted pattern and its colour, cell by cell."""
    panel, codes = drawn.panels["fate"], dict[str, int]()
    chart, painted = panel.trace("draft fate"), panel.trace("pattern")
    across, up, top = len(painted["z"][0]) // len(told.fates), len(painted["z"]) // len(chart["z"]), len(chart["z"]) - 1
    assert (chart["x0"], top, len(chart["z"][0])) == (1, 7, len(told.rounds))
    for x, (event, fates) in enumerate(zip(told.rounds, told.fates, strict=True)):
        rows = [*range(len(event.drafted)), top]
        for row in range(top + 1):
            code, said = chart["z"][row][x], chart["hover"][row][x]
            ink = {painted["z"][row * up + j][x * across + i] for j in range(up) for i in range(across)} - {None}
            name = fates[rows.index(row)] if row in rows else ""
            assert ink == {code} - {None}, (x, row)
            if not name:
                assert code is None
                continue
            shown, place = said.split("</b>")[0].split(" · ")[-1], f"draft {row + 1} ·" if row < top else "trunk’s own"
            plain_round = name == "bonus" and not event.drafted
            assert shown == name or (plain_round and shown == "plain"), (x, row, said)
            token = event.bonus if row == top else event.drafted[row]
            assert f"<b>round {x + 1} · " in said and place in said and f"id {token}<br>" in said
            assert codes.setdefault(shown, code) == code
            colour = drawn.ink["idle" if shown in ("after stop", "plain") else name]
            assert chart["scale"][2 * code][1] == painted["scale"][2 * code][1] == colour
    assert len(set(codes.values())) == len(codes) >= 7


def fate_table(drawn: Drawn, told: Told) -> None:
    rows = drawn.panels["fate"].table
    assert len(rows) == len(told.rounds)
    for row, event, fates in zip(reversed(rows), told.rounds, told.fates, strict=True):
        numbers = [event.round + 1, event.turn + 1, len(event.drafted), event.accepted]
        assert [row[name] for name in ("round", "turn", "drafted", "accepted")] == [str(number) for number in numbers]
        assert re.findall(r"\((accepted|rejected|overshoot|dropped|after stop)\)", row["drafts"]) == fates[:-1]
        assert row["it is a"] in ({fates[-1], "plain"} if not event.drafted else {fates[-1] or "none: stopped"})


def per_round(panel: Panel, told: Sequence[ev.RoundEvent]) -> None:
    found = oracle.positions(told)
    assert panel.trace("per round")["y"] == near([k / found.drafting for k in found.accepted])


def band(panel: Panel, told: Sequence[ev.RoundEvent]) -> None:
    """Around what stands beneath it, whatever that is: both ends in the chart, and in words."""
    found, bars = oracle.positions(told), panel.trace("per round")
    for i, k in enumerate(found.accepted):
        low, high = oracle.wilson(k, found.drafting)
        assert (bars["y"][i] - bars["down"][i], bars["y"][i] + bars["up"][i]) == near((low, high), abs=1e-4)
        assert f"95% interval {100 * low:.0f}%–{100 * high:.0f}%" in bars["hover"][i]


def given_reached(panel: Panel, told: Sequence[ev.RoundEvent]) -> None:
    found = oracle.positions(told)
    line = panel.trace("given reached")
    shares = [k / n if n else -1 for k, n in zip(found.accepted, found.reached, strict=True)]
    assert [whole(y) for y in line["y"]] == near(shares)
    assert panel.columns == [f"{i + 1}<br>n={n}" for i, n in enumerate(found.reached)]
    for i, (k, n) in enumerate(zip(found.accepted, found.reached, strict=True)):
        assert f"{k} of {found.drafting} rounds that drafted" in line["hover"][i]
        assert f"{k} of {n} times it was reached" in line["hover"][i]


def acceptance_table(panel: Panel, told: Sequence[ev.RoundEvent]) -> None:
    found = oracle.positions(told)
    for i, (row, k, n) in enumerate(zip(panel.table, found.accepted, found.reached, strict=True)):
        counts = [i + 1, k, found.drafting, in_percent(k, found.drafting), n, in_percent(k, n)]
        assert list(row.values()) == [str(count) for count in counts]


ACCEPTANCE = (per_round, band, given_reached, acceptance_table)


def committed_length(drawn: Drawn, told: Told) -> None:
    line = drawn.panels["length"].trace("committed length")
    steps = [oracle.Step(int(x), x == int(x), y) for x, y in zip(line["x"], line["y"], strict=True)]
    assert line["x"] == sorted(line["x"]) and steps == oracle.lengths(told.events)


def drops(drawn: Drawn, told: Told) -> None:
    panel = drawn.panels["length"]
    chart, wanted = panel.trace("rewind"), oracle.between(told.events, ev.RewindEvent)
    assert len(chart["x"]) == 3 * len(wanted) and len({event.cause for _, event in wanted}) == 6
    for i, (after, event) in enumerate(wanted):
        own = slice(3 * i, 3 * i + 3)
        (x, foot, gap), (start, to, _), text = chart["x"][own], chart["y"][own], chart["hover"][3 * i]
        assert (x, gap, start, to) == (foot, None, event.start, event.to) and after < x < after + 1
        assert f"<b>rewind ({event.cause})</b>" in text
        assert f"from {start} to {to}: {start - to} rows dropped, {to} kept" in text
    assert chart["symbol"] == "triangle-down"
    named = [word for word in panel.words if word.get("yref") != "paper"]
    assert named and all((word["x"], word["y"]) in zip(chart["x"], chart["y"], strict=True) for word in named)


def points_and_turns(drawn: Drawn, told: Told) -> None:
    panel = drawn.panels["length"]
    chart, seen = panel.trace("rewind point"), panel.trace("rewind points")
    assert [(int(x), y) for x, y in zip(chart["x"], chart["y"], strict=True)] == [
        (after, event.pos) for after, event in oracle.between(told.events, ev.CheckpointEvent)
    ]
    kept = [y in told.status.rewind_points for y in chart["y"]]
    assert any(kept) and [symbol == "diamond" for symbol in seen["symbol"]] == kept and seen["y"] == chart["y"]
    turns = [after for after, _ in oracle.between(told.events, ev.TurnEvent)]
    lines = [shape["x0"] for shape in panel.shapes if shape["type"] == "line" and shape.get("yref") == "paper"]
    assert {int(x) for x in lines} <= set(turns) and len(lines) >= 6
    assert [row["length"] for row in panel.table if row["what"] == "rewind"] == [
        str(event.to) for _, event in reversed(oracle.between(told.events, ev.RewindEvent))
    ]


def past_budget(drawn: Drawn, told: Told) -> None:
    chart = drawn.panels["length"].trace("overshoot")
    found = [(x, re.findall(r": (\d+) token", text)) for x, text in zip(chart["x"], chart["hover"], strict=True)]
    assert found == [(after, [str(count)]) for after, count, _ in oracle.past_budget(told.events)]
    held = drawn.panels["length"].trace("rows held")
    (given_up, gone), (again, back) = oracle.between(told.events, ev.ContextEvent)
    assert [int(whole(x)) for x in held["x"]] == [given_up, given_up, again, again, -1]
    assert held["y"] == [gone.used, 0, 0, back.used, None]
