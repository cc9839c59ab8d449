"""A turn that the program does not live to end: its question is kept, and one can go on from there."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from playground.conversations import continuity
from playground.conversations.record import CUT_SHORT
from playground.keeper import Keeper
from playground.limits import Refused, TurnOptions
from playground.service import Service
from playground.store import open_store
from tests.playground.kept import OPTIONS, Start, said

KILLED = """
import sys, time
from playground.conversations import continuity
from playground.keeper import Keeper
from playground.limits import TurnOptions
from playground.service import Service
from playground.settings import Settings
from playground.store import open_store
from tests.playground.fakes import FakeChat, FakeEngine
continuity.SO_FAR_S = 0.05
engine = FakeEngine(pace=0.01, answer=9000)
app = Service(Settings(), lambda *_: engine, FakeChat, keeper=Keeper(open_store(sys.argv[1])))
app.start()
talk = app.registry.new()
talk.send("the first", TurnOptions(max_new=4)).result(20)
talk.send("the second", TurnOptions(max_new=9000, system="be brief"))
while len(talk.view().messages[-1][1].split()) < 100:
    time.sleep(0.01)
print(talk.sid, flush=True)
time.sleep(60)
"""


def killed(folder: Path) -> str:
    """The id of a conversation whose server was killed in the middle of its second answer."""
    server = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    sid = server.stdout.readline().strip()
    server.send_signal(signal.SIGKILL)
    server.wait(10)
    server.stdout.close()
    return sid


def test_after_a_kill_the_question_is_there_and_one_goes_on_from_it(start: Start, tmp_path: Path) -> None:
    sid = killed(tmp_path)
    app = start()
    talk = app.registry.get(sid)
    view = talk.view()
    assert [text for role, text in view.messages if role == "user"] == ["the first", "the second"]
    assert view.messages[-1][0] == "user" and view.can_continue and not view.running
    assert view.notice.startswith("The last answer was cut off before its end, so Continue or Regenerate answers again")
    assert "is a branch under Conversations" in view.notice
    assert view.notice.endswith(f". {CUT_SHORT}") and view.notice.count(".") == 2
    assert talk.options is not None and talk.options.system == "be brief"
    kept = app.keeper.store.load(sid)
    so_far = kept.nodes[-1].said.content.split()
    assert kept.nodes[-1].parent == kept.current and len(so_far) >= 32, "what had been said of the answer"
    talk.continue_turn(OPTIONS).result(5)
    after = talk.view().messages
    assert after[:3] == view.messages and len(after) == 4 and after[-1][1]
    talk.regenerate(OPTIONS).result(5)
    assert len(talk.view().messages) == 4
    assert not app.keeper.store.load(sid).answering
    assert start().registry.get(sid).view().notice.startswith("Restored after a restart: ")


def running_turn(app: Service, sid: str, begin: Callable[[Any], Any]) -> None:
    """A turn that gets as far as its first words."""
    app.engine.pace, app.engine.answer = 0.02, 5000  # type: ignore[union-attr]
    talk = app.registry.get(sid)
    begin(talk)
    while not (talk.view().messages[-1][0] == "assistant" and talk.view().messages[-1][1]):
        pass


def dropped(app: Service, start: Start, tmp_path: Path) -> Service:
    """Another server, on what the first one had kept up to now; the first one does not come to the end of its turn."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in tmp_path.glob("conversations.sqlite*"):
        (copy / file.name).write_bytes(file.read_bytes())
    return start(keeper=Keeper(open_store(copy)))


@pytest.mark.parametrize(
    ("begin", "asked", "can"),
    [
        (lambda talk: talk.send("two", TurnOptions(max_new=4000)), ["one", "two"], True),
        (lambda talk: talk.edit(0, "another", TurnOptions(max_new=4000)), ["another"], True),
        (lambda talk: talk.regenerate(TurnOptions(max_new=4000)), ["one"], True),
    ],
)
def test_whatever_turn_it_was(
    start: Start, tmp_path: Path, begin: Callable[[Any], Any], asked: list[str], can: bool
) -> None:
    app = start()
    sid = said(app, "one")
    running_turn(app, sid, begin)
    app = dropped(app, start, tmp_path)
    view = app.registry.get(sid).view()
    assert [text for role, text in view.messages if role == "user"] == asked
    assert view.can_continue is can and "was cut off" in view.notice
    app.registry.get(sid).regenerate(OPTIONS).result(5)
    assert len(app.registry.get(sid).view().messages) == 2 * len(asked)


def test_a_continuation_that_is_cut_leaves_the_answer_as_it_was(start: Start, tmp_path: Path) -> None:
    app = start()
    app.engine.answer = 100  # type: ignore[union-attr]
    sid = said(app, "one", options=TurnOptions(max_new=4))
    before = app.registry.get(sid).view().messages
    app.registry.get(sid).continue_turn(TurnOptions(max_new=2)).result(5)
    before = app.registry.get(sid).view().messages
    app.engine.pace = 0.05  # type: ignore[union-attr]
    app.registry.get(sid).continue_turn(TurnOptions(max_new=90))
    app = dropped(app, start, tmp_path)
    view = app.registry.get(sid).view()
    assert view.messages == before
    assert view.notice.startswith("The last answer was cut off before its end, so Regenerate answers again: ")


def test_a_turn_that_comes_to_its_end_leaves_no_trace_of_what_was_kept_meanwhile(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuity, "SO_FAR_S", 0.0)
    app = start()
    app.engine.answer = 200  # type: ignore[union-attr]
    kept: list[str] = []
    real = app.keeper.so_far

    def so_far(sid: str, begun: Any, text: str) -> Any:
        kept.append(text)
        return real(sid, begun, text)

    monkeypatch.setattr(app.keeper, "so_far", so_far)
    sid = said(app, "one", options=TurnOptions(max_new=90))
    app.registry.get(sid).continue_turn(TurnOptions(max_new=90)).result(5)
    assert len(kept) >= 4 and kept == sorted(kept, key=len)
    talk = app.keeper.store.load(sid)
    assert [node.said.content for node in talk.nodes] == [text for _, text in app.registry.get(sid).view().messages]
    assert not talk.answering and talk.nodes[-1].said.tokens is None  # a chat of words has no ids


def test_a_turn_that_never_was_is_not_kept(start: Start) -> None:
    app = start()
    talk = app.registry.new()
    for error in (Refused("no"), RuntimeError("boom")):
        talk.send("first", OPTIONS).result(5)
        before = app.keeper.store.load(talk.sid)
        cast(Any, talk.chat).fail = error
        with pytest.raises(Refused):
            talk.send("second", OPTIONS).result(5)
        after = app.keeper.store.load(talk.sid)
        assert after.nodes == before.nodes and after.current == before.current and not after.answering
        assert talk.take_unsent() == "second"
    other = app.registry.new()
    app.engine.pace = 0.2  # type: ignore[union-attr]
    turn = other.send("hello", OPTIONS)
    other.stop()
    with suppress(Refused):
        turn.result(5)
    assert other.sid not in app.keeper.store and other.take_unsent() == "hello"


def test_teeth_without_it_the_question_is_lost(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Keeper, "begin", lambda *_: None)
    app = start()
    sid = said(app, "one")
    running_turn(app, sid, lambda talk: talk.send("two", TurnOptions(max_new=4000)))
    app = dropped(app, start, tmp_path)
    assert [text for role, text in app.registry.get(sid).view().messages if role == "user"] == ["one"]
