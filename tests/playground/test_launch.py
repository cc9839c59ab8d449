"""Starting: a port in use and a wrong address end with one sentence and exit code 2, at once."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.launch import FORBIDDEN, check_port, main, prepare_environment
from playground.settings import Settings, SettingsError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_port_in_use(taken_port: int) -> None:
    command = [sys.executable, "app.py", "--port", str(taken_port)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") == 0 and f"Port {taken_port} is in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_setting_ends_with_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--port", "99999"]) == 2
    assert capsys.readouterr().err == "--port is 99999, but must be from 1 to 65535.\n"


def test_an_unknown_name_in_the_list_of_models_ends_with_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert main(["--models", "smollm2-1.7b,gpt-9", "--port", str(port)]) == 2
    assert capsys.readouterr().err.startswith("--models names 'gpt-9', which is not known: use all, or some of ")


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid"])
def test_an_address_of_another_machine(host: str) -> None:
    with pytest.raises(SettingsError, match="not an address of this machine"):
        check_port(Settings(host=host, port=7860))


def test_nothing_calls_home_and_nothing_opens_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FORBIDDEN:
        monkeypatch.setenv(name, "True")
    monkeypatch.setenv("GRADIO_ANALYTICS_ENABLED", "True")
    prepare_environment()
    assert os.environ["GRADIO_ANALYTICS_ENABLED"] == "False"
    assert not set(FORBIDDEN) & set(os.environ)
