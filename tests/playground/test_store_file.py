"""The file behind the store: private, migrated, safe from crashes, threads, damage, and programs of the future."""

from __future__ import annotations

import random
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from playground.store import Store, StoreError, StoreTooNew, open_store, rows
from playground.store.database import Database
from playground.store.schema import STEPS
from tests.playground.talks import OTHER, SID, path, texts

WRITER = """
import itertools, sys
from pathlib import Path
from playground.store import Said, Store
store = Store(Path(sys.argv[1]))
store.create("a" * 32)
print("ready", flush=True)
said = []
for number in itertools.count():
    said += [Said("user", f"q{number}"), Said("assistant", f"a{number}" * 500, (number,) * 500)]
    store.save_path("a" * 32, said)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "conversations.sqlite"


def fill(file: Path) -> None:
    with closing(Store(file)) as store:
        store.create(SID)
        store.save_path(SID, path("hello", "hi"))


def mark(file: Path, pragma: str) -> None:
    with closing(sqlite3.connect(file)) as raw:
        raw.execute(f"PRAGMA {pragma}")


def test_only_the_user_can_read_the_files(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with closing(open_store(folder)) as store:
        store.create(SID)
        modes = {item.name: stat.S_IMODE(item.stat().st_mode) for item in folder.iterdir()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(modes) == 3 and set(modes.values()) == {0o600}


def test_rights_that_others_had_are_taken_away(file: Path) -> None:
    fill(file)
    file.chmod(0o644)
    fill_again = Store(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    fill_again.close()


def test_a_file_of_the_future_is_refused_and_left_untouched(file: Path) -> None:
    fill(file)
    mark(file, f"user_version = {len(STEPS) + 1}")
    before = file.read_bytes()
    with pytest.raises(StoreTooNew, match=r"later version .* update Draftscope"):
        Store(file)
    assert file.read_bytes() == before and [item.name for item in file.parent.iterdir()] == [file.name]


def test_a_version_of_the_future_that_is_still_in_the_journal_is_refused_too(file: Path) -> None:
    fill(file)
    writer = sqlite3.connect(file)  # keeps the journal: its version is not in the file yet
    writer.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    before = file.read_bytes()
    with pytest.raises(StoreTooNew):
        Store(file)
    assert file.read_bytes() == before
    writer.close()


def test_another_programs_file_is_refused_and_left_untouched(file: Path) -> None:
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("CREATE TABLE recipes (name TEXT)")
        raw.commit()
    before = file.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Store(file)
    assert file.read_bytes() == before


def test_steps_are_taken_once_and_in_order(file: Path) -> None:
    fill(file)
    later = (
        *STEPS,
        ("ALTER TABLE nodes ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'",),
        ("DROP INDEX nodes_by_place",),
    )
    for _ in range(2):
        with closing(Database(file, later)) as database, database.read() as connection:
            assert connection.execute("SELECT content, mood FROM nodes").fetchall() == [
                ("hello", "calm"),
                ("hi", "calm"),
            ]
            assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS) + 2,)
    with pytest.raises(StoreTooNew):
        Store(file)


def test_a_step_that_fails_leaves_the_file_as_it_was(file: Path) -> None:
    fill(file)
    with pytest.raises(StoreError):
        Database(file, (*STEPS, ("ALTER TABLE nodes ADD COLUMN mood TEXT", "this is no SQL")))
    with closing(Store(file)) as store:
        assert texts(store.load(SID).path) == ["hello", "hi"]


def scribble(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[1024:-100] = random.Random(1).randbytes(len(data) - 1124)
    file.write_bytes(data)


def drop_tables(file: Path) -> None:
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("DROP TABLE nodes")
        raw.commit()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "no database": lambda file: file.write_bytes(b"these are no conversations" * 400),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:9000]),
    "scribbled over": scribble,
    "without tables": drop_tables,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_put_aside_and_never_deleted(file: Path, damage: str) -> None:
    fill(file)
    DAMAGE[damage](file)
    before = file.read_bytes()
    with closing(Store(file)) as store:
        aside = [item for item in file.parent.iterdir() if ".damaged-" in item.name and item.suffix == ".sqlite"]
        assert [item.read_bytes() for item in aside] == [before]
        assert aside[0].name in store.notice and store.notice.endswith(".") and str(file.parent) not in store.notice
        assert store.list_conversations(all=True) == []
        store.create(SID)
    with closing(Store(file)) as store:
        assert store.notice == "" and SID in store


def test_an_empty_file_is_a_beginning(file: Path) -> None:
    file.touch()
    fill(file)
    assert list(file.parent.iterdir()) == [file]


def test_a_folder_that_cannot_be_made_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="DRAFTSCOPE_DATA") as refusal:
        open_store(tmp_path / "file" / "inside")
    assert str(tmp_path) not in str(refusal.value)
    with pytest.raises(StoreError):
        open_store(tmp_path / "file")
    (tmp_path / "conversations.sqlite").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        open_store(tmp_path)


def test_a_writer_elsewhere_that_does_not_end_gets_a_sentence(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playground.store.database.BUSY_MS", 50)
    with closing(Store(file)) as store, closing(sqlite3.connect(file, isolation_level=None)) as other:
        store.create(SID)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="try again"):
            store.save_path(SID, path("hello"))
        assert store.load(SID).nodes == (), "readers do not wait"
        other.execute("ROLLBACK")
        store.save_path(SID, path("hello"))


def test_a_full_disk_gets_a_sentence_and_changes_nothing(file: Path) -> None:
    fill(file)
    with closing(Store(file)) as store:
        with store._db.read() as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
        with pytest.raises(StoreError, match="no room"):
            store.save_path(SID, path("hello", "hi", "x" * 100_000))
        assert texts(store.load(SID).path) == ["hello", "hi"]


def test_threads_do_not_disturb_each_other(file: Path) -> None:
    failures: list[BaseException] = []
    with closing(Store(file)) as store:

        def work(number: int) -> None:
            try:
                sid = f"{number:032x}"
                store.create(sid)
                for turn in range(1, 13):
                    store.save_path(sid, path(*(f"{number}:{place}" for place in range(turn))))
                    assert len(store.load(sid).path) == turn
                    store.list_conversations(all=True, search=str(number))
            except BaseException as error:  # noqa: BLE001 - told to the main thread
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert failures == []
        assert {item.messages for item in store.list_conversations(all=True)} == {12}


def test_two_processes_may_share_the_file(file: Path) -> None:
    with closing(Store(file)) as one, closing(Store(file)) as two:
        one.create(SID)
        two.save_path(SID, path("hello"))
        two.create(OTHER)
        assert texts(one.load(SID).path) == ["hello"] and OTHER in one


@pytest.mark.parametrize("after_s", [0.02, 0.11, 0.3])
def test_a_killed_process_leaves_whole_turns(file: Path, after_s: float) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE)
    assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
    time.sleep(after_s)
    writer.send_signal(signal.SIGKILL)
    writer.wait(10)
    writer.stdout.close()
    with closing(Store(file)) as store:
        assert store.notice == ""
        talk = store.load(SID)
        said = texts(talk.path)
        assert len(talk.nodes) % 2 == 0 == len(said) % 2
        for question, answer in zip(said[::2], said[1::2], strict=True):
            assert answer == f"a{question[1:]}" * 500
        store.save_path(SID, path("and on"))


def test_a_save_that_breaks_off_leaves_no_part_of_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(file)
    whole, calls = rows.insert, []

    def insert(*values: Any) -> int:
        calls.append(values)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(*values)

    monkeypatch.setattr(rows, "insert", insert)
    with closing(Store(file)) as store:
        before = store.load(SID)
        with pytest.raises(KeyboardInterrupt):
            store.save_path(SID, path("other", "answers"))
        assert len(calls) == 2 and store.load(SID) == before
