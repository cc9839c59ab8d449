"""The device check runs whole in small, and what it says follows from what it found: its teeth are tried too."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from benchmarks import cuda_check, cuda_check_kernels, cuda_check_rounds
from benchmarks.cuda_check_models import TINY, OracleDrafter, checkpoint, engine_of
from benchmarks.cuda_check_report import TARGETS, Clock, OutOfTime, Report, Target, target_table

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def engine():
    made = engine_of(checkpoint(TINY[0], CPU, torch.float32), 7, 256)
    yield made
    made.close()


def test_the_whole_check_in_small(tmp_path, capsys):
    file = tmp_path / "folder" / "check.json"
    cuda_check.main(["--tiny", "--tokens", "8", "--json", str(file)])
    printed = capsys.readouterr().out
    found = json.loads(file.read_text())
    assert found["failures"] == {} and "ended early" not in printed
    wrong = [line for line in found["lines"] if line["ok"] is False]
    assert wrong == []
    sections = {line["section"] for line in found["lines"]}
    assert sections == {"kernels", "bandwidth", "exactness", "rounds", "speed 1B", "speed 8B"}
    for words in ("attention in a window", "share of roofline", "speed-up at 0.8, K=4", "transformers.generate"):
        assert words in printed
    assert set(found["targets"].values()) == {"not measured"}, "a processor says nothing about an H200"
    assert found["machine"]["torch"] == torch.__version__ and found["seconds"] < 110
    known = {(line["section"], line["what"]) for line in found["lines"]}
    assert all((target.section, target.what) in known for target in TARGETS), "a target nobody measures"


def test_a_section_that_fails_or_takes_too_long_leaves_the_others(tmp_path, capsys, monkeypatch):
    def fail(*args):
        raise ValueError("no such kernel\nsecond line")

    def slow(report, clock, *args):
        report.add("rounds", "before the end", 1)
        Clock(-1).check()

    monkeypatch.setattr(cuda_check.kernels, "check_kernels", fail)
    monkeypatch.setattr(cuda_check, "check_rounds", slow)
    file = tmp_path / "check.json"
    cuda_check.main(["--tiny", "--tokens", "8", "--sections", "kernels,rounds,bandwidth", "--json", str(file)])
    found = json.loads(file.read_text())
    assert found["failures"]["kernels"].startswith("ValueError: no such kernel (test_cuda_check.py:")
    assert found["failures"]["rounds"] == "its time budget was used up"
    assert {"before the end", "copy on the device, read and written"} <= {line["what"] for line in found["lines"]}
    assert "kernels ended early" in capsys.readouterr().out


def test_teeth_a_wrong_kernel_is_named(monkeypatch):
    real, forced = cuda_check_kernels.pick, []

    @contextmanager
    def force(form):
        forced.append(form)
        yield
        forced.pop()

    def broken(name, device):
        run = real(name, device)
        return (lambda *args, **kwargs: run(*args, **kwargs) * 1.05) if name == "swiglu" and not forced else run

    monkeypatch.setattr(cuda_check_kernels, "pick", broken)
    monkeypatch.setattr(cuda_check_kernels, "force", force)
    report = Report()
    cuda_check_kernels.check_kernels(report, Clock(60), CPU, cuda_check_kernels.TINY)
    assert {line.what for line in report.lines if line.ok is False} == {"SwiGLU", "GeGLU, packed"}


def test_teeth_rows_that_depend_on_the_width_are_counted(monkeypatch):
    real = cuda_check_kernels.pick

    def broken(name, device):
        run = real(name, device)
        return lambda query, *args, **kwargs: run(query, *args, **kwargs) + (query.shape[1] == 1)

    monkeypatch.setattr(cuda_check_kernels, "pick", broken)
    assert cuda_check_kernels._rows_by_width(cuda_check_kernels.Inputs(CPU, cuda_check_kernels.TINY)) == 8


def test_teeth_another_token_and_another_read_are_reported(engine, monkeypatch):
    report, shape = Report(), TINY[0]
    real = cuda_check_rounds._in_bursts

    def off(engine, drafter, draft_len, prompt, new, burst):
        tokens, accepted = real(engine, drafter, draft_len, prompt, new, burst)
        if (drafter, draft_len, burst) == ("ngram", 3, 5):
            tokens[4] += 1
        return tokens, accepted

    monkeypatch.setattr(cuda_check_rounds, "_in_bursts", off)
    cuda_check_rounds.check_exactness(report, Clock(60), engine, shape, 8)
    assert report.value("exactness", "runs that differ") == 1 and report.value("exactness", "runs") == 45
    assert report.value("exactness", "ngram, K=3, bursts of 5") == 4
    assert report.value("exactness", "drafts accepted: right model, K=7") > 5
    burst = cuda_check_rounds._burst

    def twice(session, suffix, new, mode):
        burst(session, suffix, new, mode)
        if mode == "coupled" and not suffix:
            engine.device_path.reads += session.telem.rounds

    monkeypatch.setattr(cuda_check_rounds, "_burst", twice)
    cuda_check_rounds.check_rounds(report, Clock(60), engine, shape, 8)
    assert report.value("rounds", "most synchronisations a round") > 1
    assert all(line.ok == ("coupled" not in line.what) for line in report.lines if "a round: " in line.what)


def test_targets_are_met_by_what_was_measured_and_no_more():
    report = Report()
    report.add("speed 8B", "share of roofline", 0.72)
    report.add("rounds", "most synchronisations a round", 2)
    target = Target("x", "speed 8B", "share of roofline", least=0.7)
    assert target.verdict(report) == "met (0.72)"
    assert replace(target, least=0.73).verdict(report) == "not met (0.72)"
    verdicts = target_table(report, measured=True)
    assert verdicts["a round waits for the device once"] == "not met (2)"
    assert verdicts["greedy tokens are identical"] == "not measured"
    with pytest.raises(OutOfTime):
        Clock(-1).check()


def test_the_oracle_is_right_at_its_rate():
    text = list(range(100, 200))
    always, never = OracleDrafter(text, 1.0, 512), OracleDrafter(text, 0.0, 512)
    for drafter in (always, never):
        drafter.start(text[:10], None)
        drafter.observe(text[10:12], None)
        drafter.truncate(11, None)
    assert always.propose(text[11], 4, None) == text[12:16]
    assert never.propose(text[11], 4, None) == [t + 1 for t in text[12:16]]
    often = OracleDrafter(text, 0.8, 512)
    often.start(text[:5], None)
    right = sum(often.propose(text[5], 20, None)[i] == text[6 + i] for _ in range(100) for i in range(20))
    assert 0.75 < right / 2000 < 0.85


def test_without_a_gpu_the_full_check_says_what_to_do(capsys):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU, and the full check takes minutes")
    with pytest.raises(SystemExit):
        cuda_check.main([])
    assert "--tiny runs the check in small" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cuda_check.main(["--tiny", "--tokens", "3"])
    assert "at least 8" in capsys.readouterr().err
