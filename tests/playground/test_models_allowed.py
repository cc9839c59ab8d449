"""Who may load what: the machine's owner anything, visitors what was listed, and nobody foreign code."""

from __future__ import annotations

from pathlib import Path

import pytest

from playground.limits import Refused
from playground.models.allowed import NONE, NOT_LISTED, Allowed, parse_models
from playground.models.catalogue import ENTRIES
from playground.reach import reachable_by_others
from playground.settings import Settings, SettingsError

SMOL = "HuggingFaceTB/SmolLM2-1.7B-Instruct"
SMALL = "model:HuggingFaceTB/SmolLM2-135M-Instruct"


@pytest.mark.parametrize(
    ("host", "share", "owner"),
    [
        ("127.0.0.1", False, True),
        ("127.8.0.1", False, True),
        ("localhost", False, True),
        ("::1", False, True),
        ("[::1]", False, True),
        ("127.0.0.1", True, False),
        ("0.0.0.0", False, False),
        ("192.168.1.5", False, False),
        ("::", False, False),
        ("localhost.example.org", False, False),
        ("127.0.0.1.example.org", False, False),
    ],
)
def test_only_a_loopback_address_that_is_not_shared_is_the_owners(host: str, share: bool, owner: bool):
    assert reachable_by_others(Settings(host=host, share=share)) is not owner


@pytest.mark.parametrize("drafter", ["none", "ngram", SMALL, "model:default"])
def test_the_owner_may_load_any_reference(drafter: str, tmp_path: Path):
    allowed = Allowed(Settings(draft_len=3, slots=2, max_ctx=512))
    for model in ("default", "some/where", "some/where@v1.0", str(tmp_path), f"  {tmp_path} "):
        wanted = allowed.settings(model, drafter)
        assert (wanted.model, wanted.drafter) == (model.strip(), drafter)
        assert (wanted.draft_len, wanted.slots, wanted.max_ctx) == (3, 2, 512), "all else is as the app was started"
    assert allowed.free and allowed.entries == ENTRIES


@pytest.mark.parametrize(
    ("model", "drafter", "why"),
    [
        ("", "ngram", "reference is empty"),
        ("/no/such/folder", "ngram", "no folder 'folder'"),
        ("../..//x y", "ngram", "no folder"),
        ("a b", "ngram", "not a checkpoint reference"),
        ("default", "magic", "'magic' is not a drafter"),
        ("default", "model:", "is not a drafter"),
        ("default", "model:a b", "not a checkpoint reference"),
        ("default", None, "as text"),
        (7, "ngram", "as text"),
        ("x" * 600, "ngram", "as text"),
    ],
)
def test_what_means_nothing_is_refused_in_a_sentence(model: object, drafter: object, why: str):
    with pytest.raises(Refused, match=why) as refused:
        Allowed(Settings()).settings(model, drafter)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize("shared", [{"share": True}, {"host": "0.0.0.0"}])
def test_a_visitor_loads_nothing_unless_it_was_listed(shared: dict[str, object], tmp_path: Path):
    start = Settings(**shared)
    nothing = Allowed(start)
    assert not nothing.any and nothing.entries == ()
    for model in ("default", SMOL, str(tmp_path)):
        with pytest.raises(Refused) as refused:
            nothing.settings(model, "ngram")
        assert str(refused.value) == NONE
    some = Allowed(start, "smollm2-1.7b, qwen3-0.6b")
    for drafter in ("none", "ngram", SMALL):
        assert some.settings(SMOL, drafter).drafter == drafter
    assert some.settings("default", "none").model == "default", "back to where it started"
    for model in ("Qwen/Qwen3-8B", str(tmp_path), "/etc", f"{SMOL}@other", "someone/else"):
        with pytest.raises(Refused) as refused:
            some.settings(model, "ngram")
        assert str(refused.value) == NOT_LISTED
    for drafter in ("model:someone/else", f"model:{tmp_path}", "mtp", ""):
        with pytest.raises(Refused, match="may be used with this model here"):
            some.settings(SMOL, drafter)
    with pytest.raises(Refused, match="may be used"):
        some.settings("Qwen/Qwen3-0.6B", SMALL)


def test_a_visitor_sees_no_path_of_the_operators_and_may_still_go_back_to_them():
    start = Settings(host="0.0.0.0", model="/home/ann/secret/mine", drafter="model:/home/ann/secret/small")
    allowed = Allowed(start, "qwen3-0.6b")
    shown = [*allowed.models(), *allowed.drafters("mine"), *allowed.drafters("Qwen/Qwen3-0.6B")]
    assert "ann" not in str(shown)
    assert ("mine", "mine") in allowed.models() and "model:small" in dict(allowed.drafters("mine")).values()
    back = allowed.settings("mine", "model:small")
    assert (back.model, back.drafter) == (start.model, start.drafter)
    with pytest.raises(Refused):
        allowed.settings("Qwen/Qwen3-0.6B", "model:small")
    assert "/home/ann/secret/mine" in str(Allowed(Settings(model=start.model)).models()), "it is the owner's own"


def test_foreign_code_runs_only_for_the_checkpoint_of_the_start():
    allowed = Allowed(Settings(model="some/code", trust_remote_code=True))
    assert allowed.settings("some/code", "ngram").trust_remote_code
    assert not allowed.settings("other/code", "ngram").trust_remote_code


def test_the_operators_list():
    assert parse_models("") == () and parse_models(" , ") == ()
    assert [entry.key for entry in parse_models("qwen3-8b,default,qwen3-8b")] == ["qwen3-8b", "default"]
    assert parse_models("all") == ENTRIES
    assert Allowed(Settings(), "qwen3-8b").entries == parse_models("qwen3-8b"), "it shortens the owner's list too"
    with pytest.raises(SettingsError, match=r"--models names 'qwen9', which is not known: use all, or"):
        parse_models("qwen3-8b,qwen9")


def test_drafters_to_choose_from():
    allowed = Allowed(Settings())
    assert dict(allowed.drafters(SMOL)) == {
        "Plain decoding": "none",
        "N-gram lookup": "ngram",
        f"Draft model {SMALL.removeprefix('model:')}": SMALL,
    }
    assert [name for _, name in allowed.drafters("anything/else")] == ["none", "ngram"]
