"""Conversations that last: kept after each turn, brought back by their own id alone, and branched."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest

from engine.events import TurnEvent
from playground.limits import Refused, TurnOptions
from playground.store import StoreError
from tests.playground.kept import OPTIONS, REAL, Start, said

# --- after a restart -------------------------------------------------------------------------------------------------


def test_after_a_restart_a_conversation_is_there_by_its_id(start: Start) -> None:
    app = start()
    sid = said(app, "one", "two", options=TurnOptions(max_new=8, system="be brief", temperature=0.5))
    before = app.registry.get(sid).view().messages
    app = start()
    talk = app.registry.get(sid)
    view = talk.view()
    assert view.messages == before and not view.running and not view.can_continue
    assert view.notice == (
        "Restored after a restart: what was said is read again with your next message. "
        "The panels show what was recorded before."
    )
    assert talk.options is not None and (talk.options.system, talk.options.temperature) == ("be brief", 0.5)
    assert talk.chat is None, "nothing is computed before the next message"
    assert app.registry.get(sid) is talk
    talk.send("three", talk.options).result(5)
    assert talk.view().messages[:4] == before and cast(Any, talk.chat).system == "be brief"
    with pytest.raises(Refused, match="No session has this id"):
        app.registry.get("0" * 32)


def test_the_restored_conversation_goes_on_with_the_very_tokens(start: Start, tiny_engine: Any) -> None:
    engine = tiny_engine("llama", max_ctx=512)
    app = start(engine)
    sid = said(app, "The quick brown fox", "jumps", options=REAL)
    chat = app.registry.get(sid).chat
    assert chat is not None
    kept, rows = chat.transcript, len(chat.session.history)
    expected = app.registry.get(sid).send("over?", REAL).result(20).tokens
    app.keeper.switch(sid, app.keeper.store.load(sid).path[3].id)  # as it was before the last message
    app = start(engine)
    talk = app.registry.get(sid)
    count = int(talk.view().notice.removeprefix("Restored after a restart: ").split()[0])
    assert rows <= count <= rows + 12, "what was said, and the frame up to the next message"
    assert talk.send("over?", REAL).result(20).tokens == expected
    assert talk.chat is not None and talk.chat.transcript.exchanges[:2] == kept.exchanges
    read = [event for event in talk.chat.session.trace if isinstance(event, TurnEvent)][-1]
    assert count < read.prompt_tokens and read.reused == 0


def test_settings_that_are_not_offered_any_more_fall_back(start: Start) -> None:
    app = start()
    sid = said(app, "one", options=TurnOptions(max_new=8, draft_len=7, system="keep me"))
    app.keeper.store.save_path(sid, [], settings={"drafter": "model:gone", "max_new": 9})
    talk = start().registry.get(sid)
    assert talk.options == TurnOptions(system="keep me")


def test_a_conversation_that_ended_its_lease_is_opened_again(start: Start) -> None:
    app = start()
    sid = said(app, "one")
    app.registry._ttl_s = -1.0
    assert app.registry.sweep() == 1
    assert app.registry.get(sid).view().notice.startswith("Opened again: ")


def test_what_was_only_opened_is_not_kept(start: Start) -> None:
    app = start()
    talk = app.registry.new()
    talk.clear().result(5)
    assert talk.sid not in app.keeper.store


# --- keeping ---------------------------------------------------------------------------------------------------------


def test_what_cannot_be_kept_is_one_sentence_and_the_conversation_goes_on(
    start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from playground.status import status_line

    app = start()
    talk = app.registry.new()
    for problem in (StoreError("The disk is full."), KeyError("secret")):
        with monkeypatch.context() as patch, caplog.at_level(logging.CRITICAL):

            def refuse(*_: Any, problem: Exception = problem, **__: Any) -> None:
                raise problem

            patch.setattr(app.keeper.store, "save_path", refuse)
            assert talk.send("hello", OPTIONS).result(5).tokens
        line = status_line(talk.view(), app.status, 0)
        assert line.startswith("Done: ") and "This conversation is not being kept. " in line and "secret" not in line
    talk.send("again", OPTIONS).result(5)
    assert talk.view().unkept == "" and len(app.keeper.store.load(talk.sid).path) == 6


def test_edit_rewind_and_clear_lose_nothing(start: Start) -> None:
    app = start()
    sid = said(app, "one", "two")
    talk = app.registry.get(sid)
    before = talk.view().messages
    talk.edit(1, "another two", OPTIONS).result(5)
    talk.rewind(cast(Any, talk.chat).session.points[0]).result(5)
    assert talk.view().notice.startswith("Back at message 1: ") and "stays as a branch" in talk.view().notice
    talk.send("another one", OPTIONS).result(5)
    talk.clear().result(5)
    kept = app.keeper.store.load(sid)
    assert kept.path == () and [b.label for b in app.keeper.store.branches(sid)] == [
        "one",
        "another two",
        "another one",
    ]
    leaf = app.keeper.store.branches(sid)[0].leaf
    talk.show_branch(leaf, app.engine).result(5)
    assert talk.view().messages == before
    talk.send("three", OPTIONS).result(5)
    assert talk.view().messages[:4] == before and len(app.keeper.store.load(sid).path) == 6


def test_a_branch_is_shown_with_the_exact_messages_and_reads_only_what_it_must(start: Start, tiny_engine: Any) -> None:
    engine = tiny_engine("llama", max_ctx=512)
    app = start(engine)
    sid = said(app, "The quick brown fox", "jumps", options=REAL)
    talk = app.registry.get(sid)
    first = talk.view().messages
    talk.edit(1, "sleeps", REAL).result(20)
    second = talk.view().messages
    one, other = app.keeper.store.branches(sid)
    for leaf, messages in ((one.leaf, first), (other.leaf, second), (one.leaf, first)):
        talk.show_branch(leaf, app.engine).result(5)
        assert talk.view().messages == messages
    assert talk.view().notice.startswith("This branch: ") and "read again with your next message" in talk.view().notice
    with pytest.raises(Refused, match="not in the caches yet"):
        talk.check()
    count = int(talk.view().notice.split()[2])
    talk.send("and then?", REAL).result(20)
    assert talk.chat is not None
    read = [e for e in talk.chat.session.trace if e.kind == "turn"][-1]
    assert read.reused > 0 and count < read.prompt_tokens - read.reused + 1
    assert talk.check().result(20).identical


def test_a_branch_waits_for_the_engine_too(start: Start) -> None:
    app = start()
    sid = said(app, "one")
    app.registry.get(sid).edit(0, "two", OPTIONS).result(5)
    app = start()
    talk = app.registry.get(sid)
    talk.show_branch(app.keeper.store.branches(sid)[0].leaf, None).result(5)
    assert talk.chat is None and talk.view().messages[0] == ("user", "one")
    with pytest.raises(Refused, match="no such message"):
        talk.show_branch(10**6, None).result(5)
    talk.send("more", OPTIONS).result(5)
    assert [text for role, text in talk.view().messages if role == "user"] == ["one", "more"]
