"""load_engine: settings out of range are one sentence each; the default context follows the model."""

from __future__ import annotations

import json
import shutil

import pytest

from engine import CheckpointError, DrafterMismatch, EngineError, load_engine


def _copy(source, target, **config):
    shutil.copytree(source, target)
    known = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(known | config))
    return str(target)


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"max_ctx": 8}, EngineError, "max_ctx must be a whole number of at least 16"),
        ({"max_ctx": 1025}, CheckpointError, "use --max-ctx 1024 or less"),
        ({"slots": 0}, EngineError, "slots must be"),
        ({"draft_len": 8}, DrafterMismatch, "between 0 and 7"),
        ({"max_draft_len": 33}, DrafterMismatch, "between 0 and 32"),
        ({"draft_len": -1}, DrafterMismatch, "between 0 and 7"),
        ({"drafter": "oracle"}, DrafterMismatch, "no drafter 'oracle'"),
        ({"drafter": "mtp"}, DrafterMismatch, "not available in this version"),
        ({"drafter": object()}, DrafterMismatch, "is not a drafter"),
        ({"device": "tpu"}, EngineError, "device"),
        ({"dtype": "int3"}, EngineError, "no dtype 'int3'"),
    ],
)
def test_a_setting_out_of_range_is_one_sentence(tiny_checkpoint, settings, error, says):
    with pytest.raises(error, match=says) as caught:
        load_engine(str(tiny_checkpoint("llama")), **settings)
    assert "\n" not in str(caught.value)


def test_the_default_context_is_the_models_own_where_that_is_shorter(tiny_checkpoint, tmp_path):
    engine = load_engine(str(tiny_checkpoint("llama")))
    assert engine.max_ctx == 1024
    engine.close()
    long = load_engine(_copy(tiny_checkpoint("llama"), tmp_path / "long", max_position_embeddings=10_000))
    assert long.max_ctx == 4096
    long.close()


def test_the_default_context_stays_below_a_rotary_switch(tiny_checkpoint, tmp_path):
    rope = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0, "original_max_position_embeddings": 128}
    engine = load_engine(_copy(tiny_checkpoint("llama"), tmp_path / "dynamic", rope_parameters=rope))
    assert engine.max_ctx == 128
    engine.close()


def test_progress_is_told_and_may_stop_the_load(tiny_checkpoint):
    told = []
    load_engine(str(tiny_checkpoint("llama")), max_ctx=64, progress=lambda *said: told.append(said)).close()
    assert told[-1] == ("Ready", 1.0) and any("widths" in sentence for sentence, _ in told)

    def stop(sentence: str, fraction: float | None) -> None:
        if "widths" in sentence:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_engine(str(tiny_checkpoint("llama")), max_ctx=64, progress=stop)
