"""From a chat to the store and back: the restored conversation makes the same next prompt."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.chat import ChatSession
from engine.chat.prompt import Answer, build_prompt
from engine.chat.transcript import Exchange, Transcript
from playground.store import open_store
from playground.store.transcripts import path_of, transcript_of
from tests.playground.talks import SID


def test_a_restored_conversation_makes_the_same_next_prompt(tiny_engine: Any, tmp_path: Path) -> None:
    engine = tiny_engine("llama", max_ctx=512)
    chat = ChatSession(engine, system="be kind")
    for number in range(3):
        turn = chat.send(f"question {number}", max_new=9)
    kept = chat._talk

    def prompt(talk: Transcript) -> list[int]:
        asked = talk.asked("and now?")
        return build_prompt(engine.tokenizer, asked.messages, asked.answers, (), engine.checkpoint.stop_ids).ids

    with closing(open_store(tmp_path)) as store:
        store.create(SID, system="be kind")
        path = path_of(kept, engine.checkpoint.id, origins=turn.origin, drafting={"drafter": "none", "rounds": 8})
        store.save_path(SID, path)
        talk = store.load(SID)
    last = talk.path[-1].said
    assert last.origins == tuple(turn.origin) and last.drafting == {"drafter": "none", "rounds": 8}
    same = transcript_of(talk, engine.checkpoint.id)
    assert same == kept and prompt(same) == prompt(kept)
    other = transcript_of(talk, "another checkpoint")
    assert other.messages == kept.messages
    assert all(answer.ids == () and answer.rest == answer.text for answer in other.answers.values())
    text = engine.tokenizer.decode(prompt(other), skip_special_tokens=False)
    assert all(answer.text in text for answer in kept.answers.values())
    chat.session.close()


def test_answers_of_another_model_are_found_again_and_keep_their_ids(tmp_path: Path) -> None:
    first = Transcript(None, (Exchange("a", Answer((1, 2), "xy")), Exchange("b", Answer((4, 5), "uvw", "w"))))
    with closing(open_store(tmp_path)) as store:
        store.create(SID)
        store.save_path(SID, path_of(first, "one", origins=("first", "draft"), drafting={"rounds": 1}))
        before = store.load(SID)
        with_other = transcript_of(before, "two")
        store.save_path(SID, path_of(with_other, "two"))
        assert store.load(SID) == before, "a look through another model changes nothing"
        told = replace(with_other, exchanges=(*with_other.exchanges, Exchange("c", Answer((7,), "z"))))
        store.save_path(SID, path_of(told, "two"))
        after = store.load(SID)
        assert len(store.branches(SID)) == 1 and after.nodes[: len(before.nodes)] == before.nodes
        assert transcript_of(after, "one").exchanges[:2] == first.exchanges


def test_a_question_that_waits_for_its_answer_is_kept() -> None:
    waiting = Transcript().asked("hello?")
    path = path_of(waiting, "tiny", drafting={"rounds": 1})
    assert [(said.role, said.content, said.drafting) for said in path] == [("user", "hello?", {})]
