"""A program that is asked to end keeps the answer that is being written; asked twice, it ends at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.playground.conftest import free_port
from tests.playground.kept import Start

ROOT = Path(__file__).parents[2]
SERVER = """
import sys, threading, time
from contextlib import nullcontext
from types import SimpleNamespace
from playground import launch
launch.prepare_environment()
from playground import server
from playground.limits import TurnOptions
from tests.playground.fakes import FakeChat, FakeEngine
class Service(server.Service):
    def start(self):
        super().start()
        threading.Thread(target=talk, args=(self,), daemon=True).start()
def talk(service):
    service.wait(20)
    talk = service.registry.new()
    talk.send("hello", TurnOptions(max_new=9000))
    while len(talk.view().messages[-1][1].split()) < 60:
        time.sleep(0.01)
    print(talk.sid, flush=True)
server.Service, server.chat_of = Service, FakeChat
server.load_from_settings = lambda *_: FakeEngine(pace=0.02, answer=9000)
if sys.argv[3] == "deaf":
    server.ending_with_care = lambda: nullcontext(SimpleNamespace(wait=lambda: time.sleep(60)))
sys.exit(launch.main(["--port", sys.argv[1], "--data", sys.argv[2]]))
"""
CLOSES_LONG = """
import time
from playground.ending import ending_with_care
with ending_with_care() as ending:
    print("open", flush=True)
    ending.wait()
    print("closes", flush=True)
    time.sleep(60)
"""


def ended(folder: Path, way: str) -> tuple[int, str, float]:
    """A server that was asked to end in the middle of an answer: its exit code, the conversation, and the seconds."""
    command = [sys.executable, "-c", SERVER, str(free_port()), str(folder), way]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        sid = server.stdout.readline().strip()
        begun = time.monotonic()
        server.send_signal(signal.SIGTERM)
        code = server.wait(30)
        seconds = time.monotonic() - begun
        assert "Traceback" not in server.stderr.read()
    return code, sid, seconds


def test_a_server_that_is_asked_to_end_keeps_the_running_answer(start: Start, tmp_path: Path) -> None:
    code, sid, seconds = ended(tmp_path, "heedful")
    assert code == 0 and seconds < 5
    asked, answer = start().registry.get(sid).view().messages
    assert asked == ("user", "hello") and answer[0] == "assistant" and len(answer[1].split()) >= 60


def test_teeth_a_server_that_does_not_listen_loses_it(start: Start, tmp_path: Path) -> None:
    code, sid, _ = ended(tmp_path, "deaf")
    assert code == -signal.SIGTERM
    assert [role for role, _ in start().registry.get(sid).view().messages] == ["user"]


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_the_second_signal_ends_it_at_once(first: signal.Signals, second: signal.Signals) -> None:
    command = [sys.executable, "-c", CLOSES_LONG]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None and program.stdout.readline() == "open\n"
        program.send_signal(first)
        assert program.stdout.readline() == "closes\n"
        program.send_signal(second)
        assert program.wait(5) == -second
