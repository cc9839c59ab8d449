"""Saved sweeps: there and back, strict about what a file may hold, private, and never of other visitors."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from typing import Any

import pytest

from playground.exchange.errors import ExchangeError
from playground.reach import reachable_by_others
from playground.settings import Settings
from playground.store.errors import StoreError
from playground.sweep import store as store_module
from playground.sweep.library import SHARED, SHELF, Library
from playground.sweep.options import MOST_PASSES
from playground.sweep.run import LARGEST_FILE, file_text, run_of
from playground.sweep.store import SweepStore
from tests.playground.sweep_runs import made_run, record

RUN = made_run({2: 1.5, 4: 2.0}, name="A <b>name</b> \u2028 ü")
LOCAL = Settings()
OTHER = "f" * 16


def changed(**fields: Any) -> bytes:
    return json.dumps(json.loads(file_text(RUN)) | fields).encode()


def test_a_file_comes_back_as_it_was():
    assert run_of(file_text(RUN).encode()) == RUN


def test_the_largest_run_fits_into_a_file_and_a_request():
    passes = [record(arm % 3, arm % 2, arm % 3, 1.234567) for arm in range(MOST_PASSES)]
    text = file_text(RUN.model_copy(update={"passes": passes}))
    assert len(text) < LARGEST_FILE and len(json.dumps({"text": text})) < 2**20


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is not JSON"),
        (b"[]", 'its draftscope must be "sweep"'),
        (b"\xff", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"draftscope": "sweep", "draftscope": "sweep"}', "twice in one object"),
        (b" " * (LARGEST_FILE + 1), "at most"),
        (changed(schema=2), "later version"),
        (changed(schema=True), "not the number 1"),
        (changed(draftscope="race"), "must be"),
        (changed(extra=1), "not a field that this version knows"),
        (changed(created="now"), "created"),
        (changed(created=1e12), "created"),
        (changed(id="../../etc/passwd"), "id"),
        (changed(name="x" * 61), "name"),
        (changed(lengths=[0]), "lengths"),
        (changed(lengths=[True]), "lengths"),
        (changed(drafters=[]), "drafters"),
        (changed(passes=[{"arm": 0}]), r"passes\[0\]\.prompt is missing"),
        (changed(passes=[record(3, 0, 0, 1).model_dump()]), r"passes\[0\] is of a setting"),
        (changed(passes=[record(0, 2, 0, 1).model_dump()]), r"passes\[0\] is of a setting"),
        (changed(passes=[record(0, 0, 4, 1).model_dump()]), r"passes\[0\] is of a setting"),
        (changed(passes=[record(0, 0, 0, 1).model_dump() | {"decode_s": -1}]), "decode_s"),
        (changed(passes=[record(0, 0, 0, 1).model_dump()] * (MOST_PASSES + 1)), "passes"),
        (changed(created=0).replace(b'"created": 0', b'"created": NaN'), "NaN"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_with_one_sentence(data, says):
    with pytest.raises(ExchangeError, match=says) as caught:
        run_of(data)
    assert str(caught.value).endswith(".") and len(str(caught.value)) < 250


def test_saved_listed_loaded_deleted(tmp_path):
    store = SweepStore(tmp_path)
    assert store.all().runs == ()
    store.save(RUN)
    later = made_run({2: 1.2}, id=OTHER, created=RUN.created + 1)
    store.save(later)
    assert store.all().runs == (later, RUN)
    assert SweepStore(tmp_path).load(RUN.id) == RUN
    file = tmp_path / "sweeps" / f"{RUN.id}.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [path.suffix for path in file.parent.iterdir()] == [".json", ".json"], "no draft is left"
    store.delete(RUN.id)
    assert store.all().runs == (later,)
    for gone in (RUN.id, "../conversations", "A" * 16, ""):
        with pytest.raises(StoreError, match="no saved sweep"):
            store.load(gone)
        with pytest.raises(StoreError, match="no saved sweep"):
            store.delete(gone)


def test_what_is_not_a_sweep_is_left_alone_and_counted(tmp_path):
    store = SweepStore(tmp_path)
    store.save(RUN)
    folder = tmp_path / "sweeps"
    (folder / f"{'a' * 16}.json").write_text("{}")
    (folder / f"{'b' * 16}.json").write_text(file_text(RUN))  # under another name than its own
    (folder / "notes.json").write_text("mine")
    stored = store.all()
    assert (stored.runs, stored.unread) == ((RUN,), 2)
    with pytest.raises(StoreError, match="cannot be read"):
        store.load("a" * 16)
    assert Library(LOCAL, tmp_path).listed("x")[1] == (
        "2 files in the folder are no sweeps that this version can read; left alone."
    )


def test_a_file_that_changed_is_read_again(tmp_path):
    store = SweepStore(tmp_path)
    store.save(RUN)
    assert store.load(RUN.id).name == RUN.name
    SweepStore(tmp_path).save(RUN.model_copy(update={"name": "renamed elsewhere"}))
    assert store.load(RUN.id).name == "renamed elsewhere"


def test_a_full_folder_refuses_one_more_and_nothing_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "MOST_RUNS", 1)
    library = Library(LOCAL, tmp_path)
    assert library.keep("a", RUN) == "Saved on this machine."
    other = made_run({2: 1.0}, id=OTHER)
    assert library.keep("a", other).startswith("Not saved: 1 sweeps are saved already")
    assert [(line.run.id, line.saved) for line in library.listed("a")[0]] == [(RUN.id, True), (OTHER, False)]
    assert library.get("a", OTHER) == other
    assert [line.run.id for line in library.listed("b")[0]] == [RUN.id]


def test_where_nothing_is_to_be_kept_sweeps_are_not_saved_either_and_a_named_folder_is_made(tmp_path):
    off = Library(replace(LOCAL, data="off"), tmp_path)
    assert off.keep("a", RUN).startswith("Nothing is kept on this machine") and not list(tmp_path.iterdir())
    named = Library(replace(LOCAL, data=str(tmp_path / "named" / "below")))
    assert named.keep("a", RUN) == "Saved on this machine."
    assert len(list((tmp_path / "named" / "below" / "sweeps").iterdir())) == 1


def test_a_folder_that_cannot_be_written_is_said_without_its_path(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    said = Library(LOCAL, blocked).keep("a", RUN)
    assert said.startswith("Not saved: The folder for sweeps cannot be made") and str(tmp_path) not in said


@pytest.mark.parametrize(
    ("settings", "shared"),
    [
        (Settings(), False), (Settings(host="localhost"), False), (Settings(host="::1"), False),
        (Settings(host="0.0.0.0"), True), (Settings(host="example.org"), True), (Settings(share=True), True),
    ],
)  # fmt: skip
def test_who_can_reach_the_server(settings, shared, monkeypatch):
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert reachable_by_others(settings) is shared
    monkeypatch.setenv("SPACE_ID", "someone/space")
    assert reachable_by_others(Settings())


def test_on_a_shared_server_nothing_is_saved_and_visitors_see_only_their_own(tmp_path):
    library = Library(Settings(share=True), tmp_path)
    assert library.keep("a", RUN) == SHARED and not library.saves
    assert list(tmp_path.iterdir()) == []
    assert library.listed("b") == ([], SHARED)
    with pytest.raises(StoreError):
        library.get("b", RUN.id)
    with pytest.raises(StoreError):
        library.remove("b", RUN.id)
    assert library.get("a", RUN.id) == RUN
    library.remove("a", RUN.id)
    assert library.listed("a")[0] == []


def test_an_opened_file_is_this_visits_alone_and_never_hides_a_saved_run(tmp_path):
    library = Library(LOCAL, tmp_path)
    library.keep("a", RUN)
    assert library.take("b", RUN).id == RUN.id and len(library.listed("b")[0]) == 1
    forged = library.take("b", RUN.model_copy(update={"name": "forged"}))
    assert forged.id != RUN.id and library.get("b", RUN.id) == RUN
    assert [line.run.name for line in library.listed("a")[0]] == [RUN.name]
    for number in range(SHELF + 3):
        library.shelve("b", made_run({2: 1.0}, repeats=1, id=f"{number:016x}"))
    assert len(library.listed("b")[0]) == 1 + SHELF
