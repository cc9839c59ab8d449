"""The benchmark runs on a tiny checkpoint: every arm, every figure, and they hold together."""

from __future__ import annotations

import json

import pytest

from benchmarks import bench
from benchmarks.arm_names import parse_arm

ARMS = ("generate", "lookup-4", "plain", "ngram-3", "ngram-7", "model-3")
NEW = 12
SPREAD = {"median", "least", "most"}


@pytest.fixture(scope="module")
def document(tiny_checkpoint, tmp_path_factory):
    """The JSON of one small run over two categories, with what it printed."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("results")
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(bench, "RESULTS", folder)
        bench.main(
            f"--model {tiny_checkpoint('llama')} --arms {','.join(ARMS)} --categories chat,repetition --turns 2 "
            f"--new {NEW} --repeat 2 --threads 1 --stand-in-layers 1 --no-memory".split()
        )
    (path,) = folder.glob("*.json")
    return json.loads(path.read_text(encoding="utf-8")) | {"printed": printed.getvalue()}


@pytest.fixture(scope="module")
def rows(document):
    return {row["arm"]: row for row in document["groups"]["overall"]}


def test_the_run_is_described(document):
    assert document["dtype"] == "float32"
    assert document["machine"]["threads"] == 1
    assert document["machine"]["omp_wait_policy"] == "PASSIVE"
    for key in ("processor", "cores", "torch", "transformers", "python", "commit", "system"):
        assert key in document["machine"]
    assert document["widths"] == {"0": 1, "3": 4, "7": 8}
    assert set(document["groups"]) == {"overall", "chat", "repetition"}


def test_every_arm_has_every_figure_in_every_group(document):
    for group in document["groups"].values():
        assert [row["arm"] for row in group] == list(ARMS)
        for row in group:
            assert set(row["decode_tokens_per_s"]) == set(row["conversation_tokens_per_s"]) == SPREAD
            assert row["decode_tokens_per_s"]["least"] > 0
            assert len(row["first_token_ms"]) == 2
            for base in ("vs_generate", "vs_lookup"):
                assert set(row[base]) == {"decode", "conversation", "first_token"}
                assert len(row[base]["first_token"]) == 2
    generate, lookup = document["groups"]["chat"][:2]
    assert generate["vs_generate"]["decode"]["median"] == lookup["vs_lookup"]["decode"]["median"] == 1


def test_every_arm_decodes_as_many_tokens_and_its_forwards_add_up(rows):
    turns = 4
    for row in rows.values():
        assert row["tokens"] == turns * NEW
    assert rows["generate"]["forwards"] == turns * NEW
    assert rows["lookup-4"]["forwards"] <= turns * NEW
    assert rows["plain"]["rounds"] == turns * (NEW - 1)
    for name in ("plain", "ngram-3", "ngram-7", "model-3"):
        row = rows[name]
        assert row["forwards"] == row["rounds"] + row["prefills"]
        assert row["flushes"] == 0
        assert row["round_ms"]["total"] > 0
        assert row["tokens_per_round"] == pytest.approx(turns * (NEW - 1) / row["rounds"])
    assert rows["ngram-7"]["rounds"] < rows["plain"]["rounds"]
    assert rows["model-3"]["draft_forwards"] > rows["model-3"]["rounds"]
    for name in ("generate", "lookup-4"):
        assert rows[name]["round_ms"] is None
        assert rows[name]["cost_model"] is None


def test_drafting_changes_no_token(document, rows):
    texts = {arm: [one["turns"] for one in repeats[0].values()] for arm, repeats in document["passes"].items()}
    plain = [[turn["tokens"] for turn in turns] for turns in texts["plain"]]
    for arm in ("ngram-3", "ngram-7", "model-3"):
        assert [[turn["tokens"] for turn in turns] for turns in texts[arm]] == plain
        assert rows[arm]["same_text_as_plain"] == "2/2"


def test_times_of_a_turn_hold_together(document):
    for repeats in document["passes"].values():
        for one in (one for repeat in repeats for one in repeat.values()):
            for turn in one["turns"]:
                assert len(turn["tokens"]) == NEW
                assert 0 < turn["first_seconds"] < turn["seconds"]
                assert 1 <= turn["first_tokens"] <= 5


def test_the_tables_and_what_they_mean_are_printed(document):
    printed = document["printed"]
    for words in ("decode tok/s", "x generate", "x lookup", "first ms 2", "predicted", "measured", "peak MiB"):
        assert words in printed
    for arm in ARMS:
        assert printed.count(f"\n{arm} ") == len(document["groups"]) + 1
    assert "OMP_WAIT_POLICY=PASSIVE for every arm" in printed
    assert "stand-in: the first 1 layers" in printed


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--turns", "0", "from 1 to 3"),
        ("--turns", "4", "from 1 to 3"),
        ("--new", "1", "at least 2"),
        ("--repeat", "0", "at least 1"),
        ("--categories", "chat,prose", "no category 'prose'"),
        ("--arms", "plain,ngram", "no arm 'ngram'"),
        ("--arms", "ngram-33", "no arm 'ngram-33'"),
    ],
)
def test_an_option_out_of_range_is_refused_before_anything_is_loaded(option, value, words, capsys):
    with pytest.raises(SystemExit):
        bench.main([option, value])
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("name", ["generate", "plain", "lookup-7", "ngram-3", "model-32"])
def test_an_arm_reads_as_it_is_written(name):
    assert str(parse_arm(name)) == name
