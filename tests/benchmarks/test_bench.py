"""The benchmark runs, and its figures hold together, on a tiny checkpoint."""

from __future__ import annotations

import json

import pytest

from benchmarks import bench
from benchmarks.prompts import CONVERSATIONS, suffixes
from tests.factories import build_tokenizer


@pytest.fixture
def rows(tiny_checkpoint, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "results")
    bench.main(
        ["--model", str(tiny_checkpoint("llama")), "--turns", "2", "--new", "12", "--repeat", "2", "--threads", "1"]
    )
    printed = capsys.readouterr().out
    (path,) = (tmp_path / "results").glob("*.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["settings"]["dtype"] == "float32"
    for row in document["arms"]:
        assert row["arm"] in printed
    return {row["arm"]: row for row in document["arms"]}


def test_every_arm_gives_as_many_tokens_and_its_forwards_add_up(rows):
    generate, plain, ngram = rows["transformers.generate"], rows["plain (W = 1)"], rows["ngram"]
    turns = 2 * len(CONVERSATIONS)
    for row in (generate, plain, ngram):
        assert row["tokens"] == turns * 12
        assert row["tokens_per_s"] > 0
        assert len(row["seconds"]) == 2
    assert generate["forwards"] == generate["tokens"], "the cache was not kept from turn to turn"
    assert plain["rounds"] == plain["tokens"] - turns
    assert plain["tokens_per_round"] == 1
    for row in (plain, ngram):
        assert row["forwards"] == row["rounds"] + row["prefills"] + row["flushes"]
        assert row["flushes"] == 0
    assert ngram["rounds"] < plain["rounds"]
    assert ngram["telemetry"]["drafted"] > 0


def test_suffixes_joined_with_answers_are_the_rendered_chat():
    tokenizer = build_tokenizer()
    messages = CONVERSATIONS["prose"]
    parts = [tokenizer.decode(ids) for ids in suffixes(tokenizer, messages)]
    chat = []
    text = ""
    for message, part in zip(messages, parts, strict=True):
        chat.append({"role": "user", "content": message})
        text += part
        assert text == tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        chat.append({"role": "assistant", "content": "It is so."})
        text += "It is so."


@pytest.mark.parametrize("option", ["--turns", "--new", "--repeat", "--draft-len"])
def test_an_option_out_of_range_is_refused_before_anything_is_loaded(option, capsys):
    with pytest.raises(SystemExit):
        bench.main([option, "0"])
    assert "at least 1" in capsys.readouterr().err
