"""Thread policy: chosen by what is measured, and only before torch is there."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from engine.threads import fastest_thread_count


@pytest.mark.parametrize(
    ("cost", "expected"),
    [({8: 1, 4: 3, 2: 6, 1: 12}, 8), ({8: 9, 4: 6, 2: 2, 1: 4}, 2), ({8: 4.0, 4: 3.6, 2: 3.5, 1: 3.6}, 8)],
    ids=["all", "two", "a small win keeps all"],
)
def test_the_fastest_count_is_chosen_and_left_set(cost, expected):
    now = [8]
    fastest_thread_count(lambda: time.sleep(cost[now[0]] * 2e-3), 8, lambda count: now.__setitem__(0, count))
    assert now == [expected]


@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_wait_asleep_unless_told_otherwise(given, expected):
    env = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"} | (
        {"OMP_WAIT_POLICY": given} if given else {}
    )
    code = "import os, engine.threads as t; t.wait_asleep(); print(os.environ['OMP_WAIT_POLICY'])"
    assert subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True).stdout.split() == [
        expected
    ]


def test_an_engine_says_how_many_threads_it_uses(tiny_engine):
    engine = tiny_engine("llama")
    assert engine.new_session().trace.header.settings["threads"] == engine.threads >= 1


def test_every_forward_runs_at_the_count_its_widths_were_probed_at(tiny_checkpoint):
    """A second engine, or another Python thread, may have set torch to something else."""
    import threading

    import torch

    from engine import generate_spec_session, load_engine

    before = torch.get_num_threads()
    engine = load_engine(str(tiny_checkpoint("llama")), max_ctx=64, threads=2)
    seen: list[int] = []
    engine.trunk.model.register_forward_hook(lambda *args: seen.append(torch.get_num_threads()))

    def elsewhere() -> None:
        torch.set_num_threads(1)
        generate_spec_session(engine.new_session(), [5, 9], 4)

    try:
        torch.set_num_threads(1)
        generate_spec_session(engine.new_session(), [5, 9], 4)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert seen and set(seen) == {2} == {engine.threads}
    finally:
        torch.set_num_threads(before)
        engine.close()
