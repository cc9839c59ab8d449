"""`SamplingParams`: every bad value gets one sentence, every edge is allowed; seeds are told and reproduce."""

from __future__ import annotations

import json
import math
from dataclasses import fields

import pytest

from engine import EngineError, SamplingParams, generate_spec_session_sampled
from engine.events import SamplingEvent
from engine.trace import Trace
from tests.engine.sampling.play import Play
from tests.engine.sampling.table_trunk import TRUNK, TableEngine, table_drafter

BAD = {
    "temperature": [-0.1, 1e-5, 101, 1e9, "1", [0.5]],
    "top_k": [-1, 1.0, 2**31, "3"],
    "top_p": [0, -0.5, 1.01, "0.9"],
    "min_p": [-0.01, 1.5, "0"],
    "repetition_penalty": [0, 0.001, -1, 101],
    "frequency_penalty": [-101, 101, "0"],
    "presence_penalty": [-101, 101, "0"],
    "penalty_last_n": [-1, 64.0, 2**31],
    "seed": [-1, 2**64, 1.0, "0", math.inf],
}
NEVER = [None, True, False, math.nan, math.inf, -math.inf, 0j]
"""Bad in every field; but a seed may be None."""
EDGES = {
    "temperature": [0, 0.0, 1e-4, 1, 100],
    "top_k": [0, 1, 2**31 - 1],
    "top_p": [1e-9, 1, 1.0],
    "min_p": [0, 1],
    "repetition_penalty": [0.01, 1, 100],
    "frequency_penalty": [-100, 0, 100],
    "presence_penalty": [-100, 0, 100],
    "penalty_last_n": [0, 2**31 - 1],
    "seed": [None, 0, 2**64 - 1],
}
CASES = [
    (name, value) for name, values in BAD.items() for value in [*values, *NEVER] if (name, value) != ("seed", None)
]


@pytest.fixture
def session():
    return TableEngine(TRUNK).new_session(table_drafter("table"), 3)


def test_every_field_is_in_both_lists():
    assert {f.name for f in fields(SamplingParams)} == set(BAD) == set(EDGES)


@pytest.mark.parametrize(("name", "value"), CASES, ids=lambda x: repr(x))
def test_a_bad_value_gets_one_sentence_that_names_it(name, value):
    with pytest.raises(EngineError) as caught:
        SamplingParams(**{name: value})
    sentence = str(caught.value)
    assert name in sentence and sentence.endswith(".") and "\n" not in sentence and sentence.count(". ") == 0
    assert repr(value) in sentence or value == 0  # for 0 it says what to use instead


@pytest.mark.parametrize("name", list(EDGES))
def test_the_edges_are_allowed_and_run(session, name):
    for value in EDGES[name]:
        params = SamplingParams(**{name: value})
        assert getattr(params, name) == value
        assert len(generate_spec_session_sampled(session, [1, 2, 3], 4, params, ignore_eos=True).tokens) >= 4


@pytest.mark.parametrize(
    ("sampling", "verify"),
    [(SamplingParams(), "exact"), (SamplingParams(), None), ({"temperature": 1}, "rejection"), (None, "rejection")],
)
def test_anything_else_than_settings_and_a_mode_is_refused_and_changes_nothing(session, sampling, verify):
    events = len(session.trace)
    with pytest.raises(EngineError, match=r"must be .*, got .*\."):
        generate_spec_session_sampled(session, [1], 4, sampling, verify=verify)
    assert session.state == "FRESH" and len(session.trace) == events


@pytest.mark.parametrize("verify", ["rejection", "coupled"])
@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_a_seed_is_used_and_told(verify, seed):
    tokens = []
    for key in (seed, seed, seed ^ 1, seed ^ 2**63):  # the key's every bit counts
        play = Play(TableEngine(TRUNK).new_session(table_drafter("table"), 3), verify)
        tokens.append(play.burst(SamplingParams(temperature=1.5, seed=key), [1, 2], 60).tokens[:60])
        assert [event.seed for event in play.session.trace.of(SamplingEvent)] == [key]
    assert tokens[0] == tokens[1] and tokens[2] != tokens[0] != tokens[3]


@pytest.mark.parametrize("verify", ["rejection", "coupled"])
def test_without_a_seed_the_session_draws_one_for_its_life_and_tells_it(verify):
    open_seed = SamplingParams(temperature=1.5)
    plays = [Play(TableEngine(TRUNK).new_session(table_drafter("table"), 3), verify) for _ in range(2)]
    for play in plays:
        for suffix in ([1, 2], [3], []):
            play.burst(open_seed, suffix, 30)
    told = [[event.seed for event in play.session.trace.of(SamplingEvent)] for play in plays]
    assert [len(seeds) for seeds in told] == [1, 1] and told[0] != told[1]
    assert plays[0].session.history != plays[1].session.history

    again = Play(TableEngine(TRUNK).new_session(table_drafter("table"), 3), verify)
    for suffix in ([1, 2], [3], []):
        again.burst(SamplingParams(temperature=1.5, seed=told[0][0]), suffix, 30)
    assert again.session.history == plays[0].session.history


def test_a_seed_survives_the_export_of_a_trace(session):
    """Some readers of JSON know no whole numbers past 2**53; ours must."""
    generate_spec_session_sampled(session, [1], 3, SamplingParams(seed=2**64 - 1))
    loaded = Trace.load(session.trace.export())
    assert [event.seed for event in loaded.of(SamplingEvent)] == [2**64 - 1]
    assert json.loads(next(line for line in session.trace.export() if '"sampling"' in line))["seed"] == 2**64 - 1


def test_the_trace_tells_each_change_of_settings_and_nothing_else(session):
    play = Play(session)
    warm, cold = SamplingParams(seed=3), SamplingParams(temperature=0.5, top_k=2, seed=3)
    penalised = SamplingParams(temperature=0, presence_penalty=1.0, seed=9)
    play.burst(warm, [1, 2], 3)
    play.burst(warm, [], 3)
    play.burst(cold, [], 3)
    play.burst(None, [], 3)
    play.burst(SamplingParams(temperature=0, top_k=3, seed=5), [], 3)  # greedy all the same
    play.burst(penalised, [], 3)
    play.verify = "coupled"
    play.burst(cold, [], 3)
    events = session.trace.of(SamplingEvent)
    assert [(e.mode, e.seed) for e in events] == [
        ("rejection", 3),
        ("rejection", 3),
        ("greedy", None),
        ("greedy", None),
        ("coupled", 3),
    ]
    assert dict(events[1].settings)["top_k"] == 2 and dict(events[3].settings)["presence_penalty"] == 1.0
    assert all({name for name, _ in e.settings} == {f.name for f in fields(SamplingParams)} - {"seed"} for e in events)
