"""More of what is drawn against the oracle: overshoot, pending carry, speed, random counters, figures, accept tests."""

from __future__ import annotations

import re
from collections import Counter

from tests.playground import drawn_oracle as oracle
from tests.playground.drawn_checks import Told, near
from tests.playground.drawn_page import Drawn

STAGES = ("draft", "verify", "accept", "host")
WASTE = {"overshoot": "overshoot", "dropped": "dropped", "after a stop": "after stop"}
"""Bars of the overshoot panel, and the fates they count."""
PLAIN = {"race": 4, "model": "words", "rate": 20.5}
"""A race's plain speed, as the page is told of it."""
BLOCK = 2**20


def wasted(told: Told) -> list[tuple[int, list[int]]]:
    """Rounds with any waste, and how many tokens of each kind."""
    rows = [(i, [row.count(fate) for fate in WASTE.values()]) for i, row in enumerate(told.fates, start=1)]
    return [(i, counts) for i, counts in rows if any(counts)]


def overshoot_bars(drawn: Drawn, told: Told) -> None:
    panel, wanted = drawn.panels["overshoot"], wasted(told)
    assert max(max(counts) for _, counts in wanted) > 1 and all(map(sum, zip(*(c for _, c in wanted), strict=True)))
    for i, name in enumerate(WASTE):
        bars = panel.trace(name)
        assert list(zip(bars["x"], bars["y"], strict=True)) == [(r, -counts[i]) for r, counts in wanted]
        assert bars["base"] == [-sum(counts[:i]) for _, counts in wanted]
        assert all(f": {c[i]} {name}<" in text for (_, c), text in zip(wanted, bars["hover"], strict=True))
    table = [[int(row[name]) for name in ("round", *WASTE)] for row in panel.table]
    assert table == [[r, *counts] for r, counts in reversed(wanted)]


def overshoot_share(drawn: Drawn, told: Told) -> None:
    """Of all columns verified: the carried token's and those of the drafts."""
    line, verified, gone, shares = drawn.panels["overshoot"].trace("share of verified work"), 0, 0, {}
    counts = dict(wasted(told))
    for number, event in enumerate(told.rounds, start=1):
        verified, gone = verified + 1 + len(event.drafted), gone + sum(counts.get(number, []))
        shares[number] = gone / verified
    assert set(counts) <= set(line["x"])
    assert line["y"] == near([shares[x] for x in line["x"]])
    assert f"{gone} of {verified} verified tokens" in drawn.panels["overshoot"].label


def carry_lanes(drawn: Drawn, told: Told) -> None:
    panel, opened = drawn.panels["pending"], oracle.opened(told.events)
    chart, counts = panel.trace("pending carry"), Counter[str](event.transition for _, event in opened)
    assert panel.lanes is not None and len(counts) == 5
    for lane, title in enumerate(panel.lanes[:5]):
        name, count = title.split(" ×")
        assert int(count) == counts[name]
        marked = [x for x, code in enumerate(chart["z"][lane], start=1) if code]
        assert marked == sorted({r for r, event in opened if event.transition == name})
    assert [[row["round"], row["transition"], row["id"], row["via"]] for row in reversed(panel.table)] == [
        [str(r), event.transition, str(event.token), event.via] for r, event in opened
    ]


def states(drawn: Drawn, told: Told) -> None:
    """Where each round's column 0 came from, and the state that was left."""
    chart, found = drawn.panels["pending"].trace("pending carry"), oracle.machine(told.events)
    for lane, names in ((5, oracle.sources(told.events)), (6, found.left)):
        assert len(set(names)) >= 3 and len(chart["z"][lane]) == len(names)
        code: dict[str, int] = {}
        for x, name in enumerate(names):
            assert f": {name}</b>" in chart["hover"][lane][x] or f"came from {name}</b>" in chart["hover"][lane][x], x
            assert code.setdefault(name, chart["z"][lane][x]) == chart["z"][lane][x]
        assert len(set(code.values())) == len(code)


def moves(drawn: Drawn, told: Told) -> None:
    said, found = drawn.panels["pending"].machine, oracle.machine(told.events)
    shown = {(a, move, b): int(n) for a, b, move, n in re.findall(r"(\w+) to (\w+) by (\w+) (\d+)", said)}
    assert f"Now {found.now}." in said and shown == dict(found.moves)


def stages(drawn: Drawn, told: Told) -> None:
    panel = drawn.panels["speed"]
    for i, name in enumerate(STAGES):
        bars = panel.trace(name)
        assert bars["x"] == [event.round + 1 for event in told.rounds]
        assert bars["y"] == near([oracle.milliseconds(event)[i] for event in told.rounds], abs=0.006)
    slow = [e.round + 1 for e in told.rounds if e.host_ms > 0.2 * sum(oracle.milliseconds(e))]
    assert slow and panel.trace("more than a fifth for the host")["x"] == slow


def speed(drawn: Drawn, told: Told) -> None:
    panel = drawn.panels["speed"]
    line = panel.trace("tokens a second")
    assert line["x"] == [event.round + 1 for event in told.rounds]
    assert line["y"] == near(oracle.speeds(told.rounds), rel=1e-3)
    assert panel.trace("plain decoding")["y"] == [PLAIN["rate"]] * 2


def tokens_of_rounds(drawn: Drawn, told: Told) -> None:
    """Under the pointer, in the table, and in what drafting should give and gives."""
    panel = drawn.panels["speed"]
    emitted = [event.emitted for event in told.rounds]
    texts = panel.trace("draft")["hover"]
    assert [int(re.search(r"(\d+) tokens?$", text)[1]) for text in texts] == emitted  # type: ignore[index]
    for row, event in zip(reversed(panel.table), told.rounds, strict=True):
        spent = [*oracle.milliseconds(event), sum(oracle.milliseconds(event))]
        assert [float(row[f"{name} ms"]) for name in (*STAGES, "round")] == near(spent, abs=0.011)
        assert (row["round"], row["tokens"]) == (str(event.round + 1), str(event.emitted))
    drafting = [event for event in told.rounds if event.drafted]
    tokens, drafts = (
        sum(n) / len(drafting) for n in zip(*((e.emitted, len(e.drafted)) for e in drafting), strict=True)
    )
    draft, verify, *_ = (sum(ms) for ms in zip(*map(oracle.milliseconds, drafting), strict=True))
    all_ms = sum(sum(oracle.milliseconds(event)) for event in drafting)
    said = panel.notes[0]
    assert f"Expected {tokens / (1 + draft / verify):.2f}×: {tokens:.2f} tokens a round" in said
    assert f"{drafts:.1f} drafts" in said
    assert f"Real {1000 * tokens * len(drafting) / all_ms / PLAIN['rate']:.2f}×" in said


def counters(drawn: Drawn, told: Told) -> None:
    """Lines of what was used so far, jumps between coupled answers left out; bars of what each round used."""
    panel, used = drawn.panels["counters"], oracle.uses(told.events)
    for name, says, counts in (
        ("draws", "sctr", [use.draws for use in used]),
        ("accept tests", "uctr", [use.tests for use in used]),
    ):
        line = next(trace for trace in panel.traces if trace["name"].startswith(f"{says}: "))
        assert line["y"] == [sum(counts[:i]) for i in range(len(used) + 1)]
        assert [(int(x), x == int(x)) for x in line["x"][1:]] == [(use.after, use.is_round) for use in used]
        bars = panel.trace(name)
        in_rounds = [(use.after, count) for use, count in zip(used, counts, strict=True) if use.is_round]
        assert list(zip(bars["x"], bars["y"], strict=True)) == in_rounds
    last, modes = used[-1], {event.round + 1: event.mode for event in told.rounds}
    assert any(f"sctr {last.sctr + last.draws:,}, uctr {last.uctr + last.tests:,}." in note for note in panel.notes)
    for row, use in zip(reversed(panel.table), used, strict=True):
        numbers = [use.sctr, use.draws, use.uctr, use.tests]
        assert [row[name] for name in ("sctr", "draws", "uctr", "accept tests")] == [str(n) for n in numbers]
        assert not use.is_round or (row["round"], row["mode"]) == (str(use.after), modes[use.after])


def figures(drawn: Drawn, told: Told) -> None:
    """The line of figures: what stands first, and what is beside it."""
    rounds, status = told.rounds, told.status
    drafted, accepted = sum(len(event.drafted) for event in rounds), sum(event.accepted for event in rounds)
    emitted, drafting = sum(event.emitted for event in rounds), sum(bool(event.drafted) for event in rounds)
    over = Counter(fate for row in told.fates for fate in row)
    assert {name: value for name, (value, _) in drawn.figures.items()} == {
        "tokens_per_second": f"{status.tok_s:.1f}",
        "tokens_per_round": f"{emitted / len(rounds):.2f}",
        "mean_acceptance_length": f"{1 + accepted / drafting:.2f}",
        "draft_acceptance_rate": f"{100 * accepted / drafted:.1f}%",
        "rounds": str(len(rounds)),
        "overshoot": f"{over['overshoot']} held",
        "pending": oracle.machine(told.events).now,
        "rewind_points": str(len(status.rewind_points)),
        "context": f"{oracle.lengths(told.events)[-1].length} / {status.max_ctx}",
    }
    assert drawn.figures["overshoot"][1] == f"{over['dropped']} let go" and over["dropped"] > 2
    assert drawn.figures["rounds"][1] == f"{status.drafter}, up to {status.draft_len}"


def numbers(text: str, *names: str) -> list[float]:
    """`p = 0.31, q = 0.2`: the numbers behind those names."""
    found = {name: float(number) for name, number in re.findall(r"([a-z/]+) = (\d[\d.e-]*)", text)}
    return [found[name] for name in names]


def titles(drawn: Drawn, told: Told) -> None:
    """What each token of the last answer says of its accept test."""
    verdicts = Counter[str]()
    for token, title in drawn.titles:
        place = re.search(r"round (\d+), column (\d+)", title)
        event = told.rounds[int(place[1]) - 1] if place else None
        column = int(place[2]) - 1 if place else 0
        if event is None or column >= len(event.test_u):
            assert "accept test" not in title
            continue
        passed = column < event.accepted
        assert numbers(title, *"pqu") == near([event.test_p[column], event.test_q[column], event.test_u[column]])
        assert f"u·q {'<' if passed else '≥'} p, so {'accepted' if passed else 'rejected'}" in title
        assert f"id {token} · {'draft' if passed else 'correction'}:" in title
        verdicts[title.rsplit(" ", 1)[-1].split("\n")[0]] += 1
    assert verdicts["accepted"] > 5 and verdicts["rejected"] > 2


def accept_lines(lines: dict[tuple[int, int], str], told: Told) -> None:
    """The inspector's words by round and draft, both counted from 1: an accepted one and a rejected one at least."""
    verdicts = set()
    for (number, draft), said in lines.items():
        event = told.rounds[number - 1]
        p, q, u = (tested[draft - 1] for tested in (event.test_p, event.test_q, event.test_u))
        assert numbers(said, "p", "q", "u", "p/q") == near([p, q, u, min(1.0, p / q)], rel=1e-3)
        verdict = "accepted" if draft <= event.accepted else "rejected"
        assert said.endswith(f": {verdict}") and p != q
        verdicts.add(verdict)
    assert len(verdicts) == 2


def drafts_to_look_at(told: Told) -> list[tuple[int, int]]:
    """Of the last round that rejected a tested draft and accepted another: those two."""
    event = next(e for e in reversed(told.rounds) if 0 < e.accepted < len(e.test_u))
    return [(event.round + 1, event.accepted), (event.round + 1, event.accepted + 1)]
