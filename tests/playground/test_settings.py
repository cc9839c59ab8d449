"""Settings: precedence, ranges, and that asking for help imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from playground.settings import Settings, SettingsError, parse

ROOT = Path(__file__).parents[2]


def test_defaults() -> None:
    assert parse([], {}) == Settings()


def test_the_command_line_wins_over_the_environment_and_that_over_defaults() -> None:
    env = {"DRAFTSCOPE_PORT": "8001", "DRAFTSCOPE_MODEL": "some/model", "DRAFTSCOPE_SHARE": "true"}
    settings = parse(["--port", "8002"], env)
    assert (settings.port, settings.model, settings.share) == (8002, "some/model", True)


def test_the_demo_is_a_model_like_another() -> None:
    assert parse(["--demo"], {}).model == parse(["--model", "demo"], {}).model == "demo"
    assert parse([], {"DRAFTSCOPE_MODEL": "demo"}).model == "demo"


def test_a_space_is_reachable_from_outside_unless_told_otherwise() -> None:
    assert parse([], {"SPACE_ID": "someone/space"}).host == "0.0.0.0"
    assert parse(["--host", "127.0.0.1"], {"SPACE_ID": "someone/space"}).host == "127.0.0.1"


def test_what_is_kept_goes_into_a_folder_only_where_one_is_named() -> None:
    assert parse([], {}).data_folder is None
    assert parse(["--data", "off"], {"DRAFTSCOPE_DATA": "/elsewhere"}).data_folder is None
    assert parse([], {"DRAFTSCOPE_DATA": "/elsewhere"}).data_folder == Path("/elsewhere")
    assert parse([], {"DRAFTSCOPE_DATA": " "}).data_folder is None
    assert parse(["--data", "~/kept"], {}).data_folder == Path("~/kept").expanduser()


def test_the_round_is_built_for_the_longest_draft_asked_for() -> None:
    assert parse(["--draft-len", "3"], {}).max_draft_len == 7
    assert parse(["--draft-len", "12"], {}).max_draft_len == 12


@pytest.mark.parametrize(
    ("argv", "env", "names"),
    [
        (["--port", "0"], {}, "--port"),
        (["--port", "70000"], {}, "65535"),
        (["--port", "http"], {}, "whole number"),
        ([], {"DRAFTSCOPE_PORT": "http"}, "DRAFTSCOPE_PORT"),
        (["--draft-len", "16"], {}, "15"),
        (["--draft-len", "-1"], {}, "--draft-len"),
        (["--drafter", "oracle"], {}, "'oracle'"),
        (["--drafter", "model:"], {}, "model:REF"),
        (["--drafter", "mtp"], {}, "'mtp' is not available in this version"),
        (["--drafter", "eagle3:some/head"], {}, "not available in this version: use none, ngram or model:REF"),
        (["--dtype", "int8"], {}, "--dtype 'int8' is not known: use auto, float32, bfloat16 or float16"),
        ([], {"DRAFTSCOPE_DEVICE": "nonsense"}, "use auto, cpu, cuda or cuda:N"),
        (["--device", "cuda:x"], {}, "'cuda:x'"),
        (["--max-ctx", "3"], {}, "--max-ctx"),
        (["--slots", "0"], {}, "--slots"),
        (["--model", " "], {}, "--model"),
        ([], {"DRAFTSCOPE_SHARE": "maybe"}, "true or false"),
        (["--portt", "1"], {}, "--portt"),
        (["--port"], {}, "--port"),
    ],
)
def test_a_wrong_setting_is_one_sentence_that_names_it(argv: list[str], env: dict[str, str], names: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse(argv, env)
    sentence = str(caught.value)
    assert names in sentence and sentence.endswith(".") and "\n" not in sentence


@pytest.mark.parametrize("argv", [["--device", "cuda:1", "--dtype", "bfloat16"], ["--drafter", "model:some/small"]])
def test_what_only_loading_can_tell_is_taken(argv: list[str]) -> None:
    assert parse(argv, {})


def test_help_lists_every_option_and_imports_neither_gradio_nor_torch() -> None:
    code = (
        "import sys, app; from playground.launch import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert not {'gradio', 'torch', 'transformers', 'plotly'} & set(sys.modules), 'heavy import'"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    names = ("model", "drafter", "draft-len", "device", "dtype", "max-ctx", "slots", "models", "host", "port", "share")
    for name in names:
        assert f"--{name}" in done.stdout
