"""From a command line to a running server, with everything heavy imported only once the settings are sound."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Sequence

from playground.settings import Settings, SettingsError, parse

QUIET = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "GRADIO_RUN_HISTORY": "False",
    "GRADIO_SSR_MODE": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
"""Nothing leaves the machine unless it was asked for; libraries read these when they are imported."""
FORBIDDEN = ("GRADIO_VIBE_MODE", "GRADIO_SHARE", "GRADIO_MCP_SERVER", "GRADIO_ALLOWED_PATHS", "GRADIO_NUM_WORKERS")
"""Would let visitors edit files, or open the app wider than the settings say."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the app until a signal stops it. Returns the exit code: 0, or 2 with one sentence on standard error."""
    try:
        settings = parse(sys.argv[1:] if argv is None else argv)
        check_port(settings)
    except SettingsError as error:
        return _refuse(str(error))
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    prepare_environment()
    from playground.server import serve

    try:
        serve(settings)
    except SettingsError as error:  # of a setting that needs the curated list to be judged
        return _refuse(str(error))
    except OSError:
        return _refuse(port_taken(settings))
    return 0


def prepare_environment() -> None:
    """Switch off every call home, and choose how threads wait, before gradio and torch are imported."""
    os.environ.update(QUIET)
    # The page's own work shares the cores with the model; threads that spin while they wait would slow both tenfold.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for name in FORBIDDEN:
        os.environ.pop(name, None)


def check_port(settings: Settings) -> None:
    """Raise `SettingsError` when the port cannot be bound, before anything slow happens."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host.strip("[]"), settings.port))
        except socket.gaierror:
            raise SettingsError(f"--host {settings.host!r} is not an address of this machine; try 127.0.0.1.") from None
        except PermissionError:
            raise SettingsError(
                f"Port {settings.port} needs more rights than this user has; try --port 7860."
            ) from None
        except OSError as error:
            if error.errno == 99:
                raise SettingsError(
                    f"--host {settings.host!r} is not an address of this machine; try 127.0.0.1."
                ) from None
            raise SettingsError(port_taken(settings)) from None


def port_taken(settings: Settings) -> str:
    """The sentence for a port in use."""
    other = settings.port + 1 if settings.port < 65535 else 7860
    return f"Port {settings.port} is in use; stop the other program or start with --port {other}."


def _refuse(sentence: str) -> int:
    sys.stderr.write(sentence + "\n")
    return 2
