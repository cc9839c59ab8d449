"""The store by its public methods: what is kept comes back, what does not fit is refused in one sentence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playground.store import Said, Store, StoreError, Talk, listing, open_store
from playground.store.checks import CONTENT_CHARS, MESSAGES, TRACE_BYTES
from tests.playground.talks import NASTY, OTHER, SID, path, said_of, texts


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    ticks = itertools.count(1000)
    store = Store(tmp_path / "conversations.sqlite", clock=lambda: float(next(ticks)))
    yield store
    store.close()


def sid_of(number: int) -> str:
    return f"{number:032x}"


def sids(store: Store, search: str = "", **options: Any) -> list[str]:
    return [item.sid for item in store.list_conversations(all=True, search=search, **options)]


def test_a_conversation_comes_back_after_a_restart(tmp_path: Path) -> None:
    answer = Said("assistant", "hi", (5, 6), "", ("first", "draft"), "tiny", {"drafter": "ngram", "rounds": 2})
    first = open_store(tmp_path)
    first.create(SID, name="Greeting", system="be kind", settings={"max_new": 64, "stop": ["\n"], "seed": 2**64 - 1})
    first.save_path(SID, [Said("user", "hello"), answer])
    first.save_trace(SID, b"\x1f\x8b trace", 0, 5)
    first.close()
    again = open_store(tmp_path)
    talk = again.load(SID)
    assert (talk.name, talk.system) == ("Greeting", "be kind")
    assert talk.settings == {"max_new": 64, "stop": ["\n"], "seed": 2**64 - 1}
    assert said_of(talk.path) == [Said("user", "hello"), answer]
    assert again.load_trace(SID) == [b"\x1f\x8b trace"]
    again.close()


def test_the_environment_chooses_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAFTSCOPE_DATA", str(tmp_path / "deep" / "data"))
    open_store().close()
    assert (tmp_path / "deep" / "data" / "conversations.sqlite").exists()
    open_store(tmp_path / "given").close()
    assert (tmp_path / "given" / "conversations.sqlite").exists()


def test_saving_the_same_again_changes_nothing(store: Store) -> None:
    store.create(SID)
    end = store.save_path(SID, path("hello", "hi", tokens=True), system="s", settings={"k": 1})
    before = store.load(SID)
    assert store.save_path(SID, path("hello", "hi", tokens=True), system="s", settings={"k": 1}) == end
    assert store.save_path(SID, path("hello", "hi")) == end, "a page knows no ids"
    assert store.load(SID) == before


def test_another_answer_is_a_branch_and_the_old_one_can_be_shown_again(store: Store) -> None:
    store.create(SID)
    store.save_path(SID, path("q1", "one", "q2", "two"))
    store.save_path(SID, path("q1", "other"))
    assert texts(store.load(SID).path) == ["q1", "other"]
    first, second = store.branches(SID)
    assert (first.label, first.messages, first.current, first.of) == ("q1", 4, False, None)
    assert (second.label, second.messages, second.current, second.of) == ("other", 2, True, 0)
    assert second.fork == first.nodes[0]
    assert texts(store.switch(SID, first.leaf)) == ["q1", "one", "q2", "two"]
    assert [branch.current for branch in store.branches(SID)] == [True, False]


def test_a_continued_answer_grows_where_it_is(store: Store) -> None:
    store.create(SID)
    end = store.save_path(SID, path("q", "once upon", tokens=True))
    assert store.save_path(SID, path("q", "once upon a time", tokens=True)) == end
    assert texts(store.load(SID).nodes) == ["q", "once upon a time"]
    assert store.load(SID).nodes[1].said.tokens == tuple(map(ord, "once upon a time"))


def test_an_answer_with_something_behind_it_does_not_grow(store: Store) -> None:
    store.create(SID)
    store.save_path(SID, path("q", "once", "go on", "no"))
    store.save_path(SID, path("q", "once upon"))
    assert sorted(texts(store.load(SID).nodes)) == ["go on", "no", "once", "once upon", "q"]


def test_an_answer_of_other_tokens_does_not_grow(store: Store) -> None:
    store.create(SID)
    store.save_path(SID, [Said("user", "q"), Said("assistant", "ab", (1, 2))])
    store.save_path(SID, [Said("user", "q"), Said("assistant", "abc", (9, 3))])
    assert len(store.branches(SID)) == 2


def test_ids_that_come_later_are_added_to_the_answer(store: Store) -> None:
    store.create(SID)
    store.save_path(SID, path("q", "ab"))
    store.save_path(SID, [Said("user", "q"), Said("assistant", "ab", (1, 2), checkpoint="tiny")])
    (_, answer) = store.load(SID).nodes
    assert (answer.said.tokens, answer.said.checkpoint) == ((1, 2), "tiny")


def test_an_empty_path_shows_nothing_and_loses_nothing(store: Store) -> None:
    store.create(SID)
    store.save_path(SID, path("q", "a"))
    assert store.save_path(SID, []) is None
    assert store.load(SID).path == () and len(store.load(SID).nodes) == 2


def test_a_list_is_for_what_a_visitor_owns(store: Store) -> None:
    for number in range(3):
        store.create(sid_of(number))
    assert store.list_conversations() == []
    assert [item.sid for item in store.list_conversations({sid_of(1), "unknown"})] == [sid_of(1)]
    assert sids(store) == [sid_of(2), sid_of(1), sid_of(0)]
    with pytest.raises(StoreError, match="owns"):
        store.list_conversations(sid_of(1))


def test_a_search_does_not_reach_what_a_visitor_does_not_own(store: Store) -> None:
    for sid in (SID, OTHER):
        store.create(sid)
        store.save_path(sid, path("the secret word"))
    assert [item.sid for item in store.list_conversations([SID], search="secret")] == [SID]
    assert store.list_conversations(search="secret") == []


def test_the_latest_changed_comes_first(store: Store) -> None:
    for number in range(3):
        store.create(sid_of(number))
    store.save_path(sid_of(0), path("news"))
    assert sids(store) == [sid_of(0), sid_of(2), sid_of(1)]
    store.rename(sid_of(1), "named")
    assert sids(store, limit=2) == [sid_of(1), sid_of(0)]
    assert sids(store, limit=2, offset=2) == [sid_of(2)]


def test_a_title_is_the_name_or_the_first_question(store: Store) -> None:
    store.create(SID)
    assert store.list_conversations(all=True)[0].title == "New conversation"
    store.save_path(SID, path("  what\n\nis\x00 " + "long " * 99, "a"))
    title = store.list_conversations(all=True)[0].title
    assert title.startswith("what is long") and len(title) <= 60 and "\n" not in title
    assert store.load(SID).title == title
    store.rename(SID, " A\tname\n")
    assert store.list_conversations(all=True)[0].title == "A name" == store.load(SID).title


@pytest.mark.parametrize("text", [text for text in NASTY if text.strip()])
def test_a_search_takes_every_character_as_itself(store: Store, text: str) -> None:
    for number, content in enumerate([f"before {text} after", "plain words", "x" * 50]):
        store.create(sid_of(number))
        store.save_path(sid_of(number), path("q", content))
    assert sids(store, text) == [sid_of(0)]


def test_a_search_finds_names_all_branches_and_any_case(store: Store) -> None:
    store.create(SID, name="Holiday PLANS")
    store.save_path(SID, path("q", "Grüße aus Köln"))
    store.save_path(SID, path("q", "another"))
    for query in ("holiday plans", "GRÜSSE", "köln", "ANOTHER"):
        assert sids(store, query) == [SID], query
    assert sids(store, "berlin") == []


def test_deleting_takes_branches_and_trace_and_no_other_conversation(store: Store, tmp_path: Path) -> None:
    for sid in (SID, OTHER):
        store.create(sid)
        store.save_path(sid, path("q", f"unforgettable {sid}"))
        store.save_trace(sid, b"\x1f\x8b" + sid.encode(), 0, 5)
    store.delete(SID)
    assert SID not in store and OTHER in store
    assert texts(store.load(OTHER).path)[1].startswith("unforgettable")
    with pytest.raises(StoreError, match="No conversation"):
        store.load_trace(SID)
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert SID.encode() not in kept and OTHER.encode() in kept


def test_a_long_conversation_can_be_kept_shown_and_deleted(store: Store) -> None:
    long = path(*(f"m{number}" for number in range(3000)))
    store.create(SID)
    store.save_path(SID, long)
    assert len(store.load(SID).path) == 3000 and len(store.branches(SID)) == 1
    store.delete(SID)
    assert sids(store) == []


REFUSED: list[tuple[str, Callable[[Store], object]]] = [
    ("role", lambda s: s.save_path(SID, [replace(path("q")[0], role="system")])),  # type: ignore[arg-type]
    ("out of turn", lambda s: s.save_path(SID, [Said("assistant", "a")])),
    ("out of turn", lambda s: s.save_path(SID, [Said("user", "a"), Said("user", "b")])),
    ("must be text", lambda s: s.save_path(SID, [Said("user", b"x")])),  # type: ignore[arg-type]
    ("characters", lambda s: s.save_path(SID, path("x" * 10_000_000))),
    ("token", lambda s: s.save_path(SID, [Said("user", "a"), Said("assistant", "b", (-1,))])),
    ("token", lambda s: s.save_path(SID, [Said("user", "a"), Said("assistant", "b", (2**31,))])),
    ("token", lambda s: s.save_path(SID, [Said("user", "a"), Said("assistant", "b", (True,))])),
    ("origins", lambda s: s.save_path(SID, [Said("user", "a"), Said("assistant", "b", (1,), "", ("draft",) * 2)])),
    ("messages", lambda s: s.save_path(SID, path(*["x"] * (MESSAGES + 1)))),
    ("kept already", lambda s: s.create(SID)),
    ("name", lambda s: s.rename(SID, "x" * 10_000_000)),
    ("system", lambda s: s.save_path(SID, [], system="x" * 10_000_000)),
    ("Setting", lambda s: s.save_path(SID, [], settings={"a": float("nan")})),
    ("Setting", lambda s: s.save_path(SID, [], settings={"seed": 2**64})),
    ("Setting", lambda s: s.save_path(SID, [], settings={"a": {"b": 1}})),  # type: ignore[dict-item]
    ("Setting", lambda s: s.save_path(SID, [], settings={"a": ["x" * 10_000]})),
    ("setting's name", lambda s: s.save_path(SID, [], settings={"A b": 1})),
    ("no such message", lambda s: s.switch(SID, 10**30)),
    ("no such message", lambda s: s.switch(SID, "1")),  # type: ignore[arg-type]
    ("compressed", lambda s: s.save_trace(SID, b"plain", 0, 5)),
    ("at least one event", lambda s: s.save_trace(SID, b"\x1f\x8b", 5, 5)),
    ("MiB", lambda s: s.save_trace(SID, b"\x1f\x8b" + bytes(TRACE_BYTES), 0, 5)),
    ("search", lambda s: s.list_conversations(all=True, search="x" * 10_000_000)),
    ("session id", lambda s: s.load("../../etc/passwd")),
    ("session id", lambda s: s.create("A" * 32)),
    ("session id", lambda s: s.load(None)),  # type: ignore[arg-type]
    ("No conversation", lambda s: s.load(OTHER)),
    ("No conversation", lambda s: s.save_path(OTHER, path("q"))),
    ("No conversation", lambda s: s.delete(OTHER)),
    ("No conversation", lambda s: s.rename(OTHER, "x")),
    ("No conversation", lambda s: s.switch(OTHER, None)),
    ("No conversation", lambda s: s.save_trace(OTHER, b"\x1f\x8b", 0, 5)),
    ("current", lambda s: s.add(OTHER, Talk(current=3))),
    ("time", lambda s: s.add(OTHER, Talk(created=float("inf")))),
]


@pytest.mark.parametrize(("word", "call"), REFUSED)
def test_what_does_not_fit_is_refused_and_changes_nothing(
    store: Store, word: str, call: Callable[[Store], object]
) -> None:
    store.create(SID, name="kept")
    store.save_path(SID, path("hello", "hi"))
    before = store.load(SID), store.list_conversations(all=True)
    with pytest.raises(StoreError, match=word) as refusal:
        call(store)
    sentence = str(refusal.value)
    assert sentence.endswith(".") and sentence[:1].isupper() and len(sentence) < 250 and SID not in sentence
    assert (store.load(SID), store.list_conversations(all=True)) == before


def test_a_conversation_has_a_largest_size(store: Store) -> None:
    store.create(SID)
    for number in range(16):
        store.save_path(SID, path(str(number) + "x" * (CONTENT_CHARS - 10)))
    with pytest.raises(StoreError, match="begin another one"):
        store.save_path(SID, path(*("y" * (CONTENT_CHARS - 10) for _ in range(2))))
    assert len(store.load(SID).nodes) == 16


def test_nodes_of_another_conversation_cannot_be_shown(store: Store) -> None:
    for sid in (SID, OTHER):
        store.create(sid)
    node = store.save_path(OTHER, path("private"))
    with pytest.raises(StoreError, match="no such message"):
        store.switch(SID, node)


def test_lone_surrogates_and_nuls_survive_as_what_a_file_can_carry(store: Store) -> None:
    store.create(SID, name="n\ud800")
    store.save_path(SID, path("a\ud800b", "c\x00d"))
    assert texts(store.load(SID).path) == ["a\ufffdb", "c\x00d"]
    assert store.save_path(SID, path("a\ud800b", "c\x00d")) == store.load(SID).current
    assert len(store.load(SID).nodes) == 2


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.list_conversations(all=True)


def test_like_would_take_a_percent_sign_for_everything(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth of the search tests."""
    store.create(SID)
    store.save_path(SID, path("plain words"))
    assert sids(store, "%") == []
    broken = listing._LIST.replace("holds(n.content, :search)", "n.content LIKE '%' || :search || '%'")
    monkeypatch.setattr(listing, "_LIST", broken)
    assert sids(store, "%") == [SID]


def test_a_store_without_a_file_keeps_as_others_do_until_it_is_closed(tmp_path: Path) -> None:
    store, seconds = Store(None, clock=lambda: seconds), 0.0
    for sid in (SID, OTHER):
        store.create(sid)
        store.save_path(sid, path("q", "a"))
    store.delete(OTHER)
    store.create(OTHER)
    assert texts(store.load(SID).path) == ["q", "a"] and list(tmp_path.iterdir()) == []
    seconds = 100.0
    store.expire(101, [])
    store.expire(99, [SID])
    assert SID in store and OTHER not in store
    store.expire(99)
    assert SID not in store
    store.close()
    with pytest.raises(StoreError, match="are closed"):
        store.load(SID)


def test_a_summary_counts_answers_and_names_the_last_model(store: Store) -> None:
    store.create(SID)
    store.save_path(SID, [Said("user", "q"), Said("assistant", "a", checkpoint="first")])
    store.save_path(SID, [Said("user", "q"), Said("assistant", "b", checkpoint="second"), Said("user", "r")])
    (line,) = store.list_conversations(all=True)
    assert (line.messages, line.answers, line.checkpoint) == (4, 2, "second")
