"""A folder and its branch: what is pulled, what is committed, what is refused, and what is never overwritten."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lochan
from lochan.api import checkout
from lochan.api.blocking import Branch, Lake
from lochan.api.checkout import CheckoutStatus
from lochan.checkout import state, transfer
from lochan.errors import AlreadyExists, Conflict, FutureFormat, Invalid, NotFound, NothingToDo, PathsInTheWay, Refused
from tests.unit.checkout.conftest import FIRST
from tests.unit.cli.invoke import lochan as command


def files(folder: Path) -> dict[str, bytes]:
    found = [each for each in folder.rglob("*") if each.is_file() and state.FOLDER not in each.parts]
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in found}


def changes(found: CheckoutStatus) -> list[tuple[str, str]]:
    return [(each.kind, each.path) for each in found.changes]


def test_a_checkout_has_the_files_of_the_commit(main: Branch, lake: Lake, folder: Path) -> None:
    main.put("staged", b"is not committed")
    assert files(folder) == FIRST
    found = lake.checkout(folder / "raw").status()
    assert (found.folder, found.repository, found.ref, changes(found)) == (str(folder), "demo", "main", [])
    assert not found.behind and not found.interrupted
    assert list((folder / state.FOLDER / "parts").iterdir()) == []


def test_a_prefix(main: Branch, lake: Lake, tmp_path: Path) -> None:
    done = main.checkout(tmp_path / "raw", prefix="raw")
    assert (done.written, sorted(files(tmp_path / "raw"))) == (2, ["b.csv", "deep/c.bin"])
    (tmp_path / "raw" / "new.csv").write_text("2,plum\n")
    made = lake.checkout(tmp_path / "raw").commit("plums")
    assert main.read("raw/new.csv") == b"2,plum\n"
    changed = lake.repository("demo").ref(made.parents[0]).diff(made.id)
    assert [each.path for each in changed] == ["raw/new.csv"]


def test_what_was_changed_is_one_commit(main: Branch, lake: Lake, folder: Path) -> None:
    (folder / "a.txt").write_text("uno\n")
    (folder / "new" / "sub").mkdir(parents=True)
    (folder / "new" / "sub" / "d.json").write_text("{}")
    (folder / "raw" / "b.csv").unlink()
    checkout = lake.checkout(folder)
    expected = [("changed", "a.txt"), ("added", "new/sub/d.json"), ("removed", "raw/b.csv")]
    assert changes(checkout.status()) == expected
    before = main.resolve()
    made = checkout.commit("from the folder")
    assert made.parents == (before.id,)
    assert {each.path for each in main.list()} == {"a.txt", "empty", "new/sub/d.json", "raw/deep/c.bin"}
    assert main.read("a.txt") == b"uno\n"
    assert main.stat("new/sub/d.json").content_type == "application/json"
    assert list(lake.repository("demo").workspaces()) == []
    assert changes(checkout.status()) == [] and not checkout.status().behind
    with pytest.raises(NothingToDo):
        checkout.commit("again")


def test_a_touched_file_is_not_a_change_and_one_of_the_same_size_and_time_is_seen(lake: Lake, folder: Path) -> None:
    os.utime(folder / "raw" / "b.csv")
    (folder / "a.txt").write_text("two\n")  # within the time that the disk's clock may stand still
    assert changes(lake.checkout(folder).status()) == [("changed", "a.txt")]


def test_a_pull_brings_what_is_new_and_leaves_what_was_changed_here(main: Branch, lake: Lake, folder: Path) -> None:
    (folder / "mine.txt").write_text("mine")
    (folder / "a.txt").write_text("changed here\n")
    main.put("raw/b.csv", b"2,plum\n")
    main.put("theirs.txt", b"theirs")
    main.delete("raw/deep/c.bin")
    main.commit("second")
    checkout = lake.checkout(folder)
    assert checkout.status().behind
    done = checkout.pull()
    assert (done.written, done.removed, done.bytes) == (2, 1, 13)
    assert files(folder) == {
        "a.txt": b"changed here\n",
        "empty": b"",
        "mine.txt": b"mine",
        "raw/b.csv": b"2,plum\n",
        "theirs.txt": b"theirs",
    }
    assert not (folder / "raw" / "deep").exists(), "an empty folder goes too"
    assert changes(checkout.status()) == [("changed", "a.txt"), ("added", "mine.txt")]
    assert checkout.pull().written == 0


def test_what_was_changed_on_both_sides_is_reported_and_nothing_is_done(main: Branch, lake: Lake, folder: Path) -> None:
    (folder / "a.txt").write_text("here\n")
    (folder / "raw" / "b.csv").unlink()
    (folder / "new.txt").write_text("here")
    (folder / "ignored.txt").write_text("here")
    (folder / ".lochanignore").write_text("ignored.txt\n")
    (folder / "raw" / "deep" / "c.bin").write_bytes(b"here")
    for path in ("a.txt", "raw/b.csv", "new.txt", "ignored.txt", "fine.txt"):
        main.put(path, b"there")
    main.delete("raw/deep/c.bin")
    main.commit("there")
    before = files(folder)
    checkout = lake.checkout(folder)
    with pytest.raises(PathsInTheWay) as caught:
        checkout.pull()
    assert caught.value.paths == ("a.txt", "ignored.txt", "new.txt", "raw/b.csv", "raw/deep/c.bin")
    assert files(folder) == before
    head = main.resolve().id
    with pytest.raises(PathsInTheWay) as caught:
        checkout.commit("here")
    assert caught.value.paths == ("a.txt", "new.txt", "raw/b.csv", "raw/deep/c.bin")
    assert main.resolve().id == head
    assert list(lake.repository("demo").workspaces()) == []


def test_the_same_change_on_both_sides_is_none(main: Branch, lake: Lake, folder: Path) -> None:
    for path in ("a.txt", "new.txt"):
        (folder / path).write_text("both\n")
        main.put(path, b"both\n")
    (folder / "empty").unlink()
    main.delete("empty")
    main.commit("both")
    assert lake.checkout(folder).pull().written == 0
    assert changes(lake.checkout(folder).status()) == []


def test_a_commit_beside_other_changes_of_the_branch(main: Branch, lake: Lake, folder: Path) -> None:
    main.put("theirs.txt", b"theirs")
    theirs = main.commit("theirs")
    (folder / "mine.txt").write_text("mine")
    checkout = lake.checkout(folder)
    assert checkout.commit("mine").parents == (theirs.id,)
    assert main.read("mine.txt") == b"mine" and main.read("theirs.txt") == b"theirs"
    assert changes(checkout.status()) == [] and checkout.status().behind
    assert checkout.pull().written == 1
    assert files(folder) == FIRST | {"mine.txt": b"mine", "theirs.txt": b"theirs"}


def test_a_file_becomes_a_folder_and_a_folder_a_file(main: Branch, lake: Lake, folder: Path) -> None:
    main.delete("a.txt", "raw/b.csv", "raw/deep/c.bin")
    main.put("a.txt/x", b"x")
    main.put("raw", b"raw")
    main.commit("turned")
    lake.checkout(folder).pull()
    assert files(folder) == {"a.txt/x": b"x", "empty": b"", "raw": b"raw"}
    (folder / "empty").unlink()
    (folder / "empty").mkdir()
    (folder / "empty" / "y").write_text("y")
    lake.checkout(folder).commit("once more")
    assert main.read("empty/y") == b"y"


def test_something_of_the_user_in_the_way_of_a_folder(main: Branch, lake: Lake, folder: Path) -> None:
    (folder / "new").write_text("a file")
    (folder / "other").mkdir()
    (folder / "other" / "mine").write_text("mine")
    main.put("new/x", b"x")
    main.put("other", b"a file")
    main.commit("there")
    before = files(folder)
    with pytest.raises(PathsInTheWay) as caught:
        lake.checkout(folder).pull()
    assert caught.value.paths == ("new/x", "other")
    assert files(folder) == before


def test_links_are_never_followed(main: Branch, lake: Lake, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (folder / "link").symlink_to(outside / "secret")
    (folder / "links").symlink_to(outside)
    told: list[str] = []
    checkout = lake.checkout(folder)
    assert changes(checkout.status(report=lambda what, hint: told.append(what))) == []
    assert told == [f"left out {folder}/link: it is a link", f"left out {folder}/links: it is a link"]
    shutil.rmtree(folder / "raw")
    (folder / "raw").symlink_to(outside)
    (outside / "b.csv").write_text("not ours")
    assert changes(checkout.status()) == [("removed", "raw/b.csv"), ("removed", "raw/deep/c.bin")]
    main.put("raw/new.csv", b"new")
    main.commit("new")
    with pytest.raises((Refused, PathsInTheWay), match=r"is a link|changed here"):
        checkout.pull()
    assert sorted(each.name for each in outside.iterdir()) == ["b.csv", "secret"]
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(outside / "secret")
    (folder / "raw").unlink()
    with pytest.raises(Refused, match=r"a\.txt is not a file any more"):
        checkout.commit("a link")
    assert main.read("a.txt") == b"one\n"


def test_what_is_ignored_and_what_is_in_the_commit(main: Branch, lake: Lake, folder: Path) -> None:
    (folder / ".lochanignore").write_text("*.tmp\nraw/\n")
    (folder / "x.tmp").write_text("x")
    (folder / "raw" / "untracked").write_text("x")
    (folder / "raw" / "b.csv").write_text("changed")
    checkout = lake.checkout(folder)
    assert changes(checkout.status()) == [("added", ".lochanignore"), ("changed", "raw/b.csv")]
    (folder / ".lochanignore").write_text("/\n")
    with pytest.raises(Invalid, match="line 1"):
        checkout.status()


@pytest.mark.parametrize("path", ["../x", "a/../../x", ".lochan/checkout", ".git/config"])
def test_a_hostile_tree_is_refused_and_nothing_is_written(lake: Lake, main: Branch, tmp_path: Path, path: str) -> None:
    try:
        main.put(path, b"hostile")
    except Invalid:
        pytest.skip("no repository takes such a path")
    main.commit("hostile")
    with pytest.raises(Refused, match="cannot be a file here"):
        main.checkout(tmp_path / "deep" / "out")
    assert files(tmp_path / "deep") == {}
    main.checkout(tmp_path / "raw", prefix="raw/")  # where it is not


def test_folders_that_are_taken(lake: Lake, main: Branch, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "file").write_text("")
    (tmp_path / "of-a-lake" / ".lochan").mkdir(parents=True)
    (tmp_path / "of-a-lake" / ".lochan" / "lake.json").write_text("{}")
    for name in ("full", "file", "out", "of-a-lake"):
        with pytest.raises(AlreadyExists):
            main.checkout(tmp_path / name)
    with pytest.raises(NotFound, match="is not in a checkout"):
        lake.checkout(tmp_path / "full").status()
    with pytest.raises(NotFound):
        lake.repository("demo").ref("nowhere").checkout(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_tag_takes_no_commits(lake: Lake, main: Branch, tmp_path: Path) -> None:
    lake.repository("demo").create_tag("v1", "main")
    lake.repository("demo").ref("v1").checkout(tmp_path / "v1")
    (tmp_path / "v1" / "a.txt").write_text("changed")
    with pytest.raises(Refused, match="is not a branch"):
        lake.checkout(tmp_path / "v1").commit("no")


def test_a_checkout_of_another_lake(lake: Lake, folder: Path, tmp_path: Path) -> None:
    assert command("init", str(tmp_path / "other")).exit_code == 0
    with lochan.connect(str(tmp_path / "other")) as other, pytest.raises(Invalid, match="another lake"):
        other.checkout(folder).status()


def test_a_state_of_a_later_version_and_a_damaged_one(lake: Lake, folder: Path) -> None:
    file = folder / state.FOLDER / "checkout"
    was = json.loads(file.read_text())
    file.write_text(json.dumps(was | {"version": state.VERSION + 1}))
    with pytest.raises(FutureFormat):
        lake.checkout(folder).status()
    file.write_text(file.read_text()[:100])
    with pytest.raises(Invalid, match="is damaged"):
        lake.checkout(folder).pull()


def test_two_at_once(lake: Lake, main: Branch, folder: Path) -> None:
    with state.alone(folder), pytest.raises(Conflict, match="another process"):
        lake.checkout(folder).pull()


class Cut(Exception):
    """The process ends here."""


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_a_pull_that_was_interrupted_goes_on(
    lake: Lake, main: Branch, folder: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    for path in ("a.txt", "new.txt", "raw/b.csv"):
        main.put(path, f"second {path}".encode())
    main.delete("empty")
    main.commit("second")
    checkout = lake.checkout(folder)
    _interrupt(monkeypatch, after)
    if after < 3:
        with pytest.raises(Cut):
            checkout.pull()
        assert checkout.status().interrupted
        with pytest.raises(Refused, match="interrupted"):
            checkout.commit("half")
    monkeypatch.undo()
    done = checkout.pull()
    assert done.written == 3 - after if after < 3 else 3
    assert not checkout.status().interrupted and changes(checkout.status()) == []
    assert main.read("a.txt") == (folder / "a.txt").read_bytes()


def test_a_checkout_that_was_interrupted_goes_on(
    lake: Lake, main: Branch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _interrupt(monkeypatch, 2)
    with pytest.raises(Cut):
        main.checkout(tmp_path / "out")
    monkeypatch.undo()
    assert main.checkout(tmp_path / "out").written == 2
    assert files(tmp_path / "out") == FIRST
    assert changes(lake.checkout(tmp_path / "out").status()) == []


def _interrupt(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Before the file with this number is in its place."""
    inner, left = transfer.Transfer._finish, [after]

    def finish(*given: object) -> object:
        if not left[0]:
            raise Cut
        left[0] -= 1
        return inner(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(transfer.Transfer, "_finish", finish)


def test_a_file_that_comes_while_others_are_written_stays(
    lake: Lake, main: Branch, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main.put("new.txt", b"there")
    main.commit("new")
    inner = transfer.Transfer._finish

    def finish(*given: object) -> object:
        (folder / "new.txt").write_text("here")
        return inner(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(transfer.Transfer, "_finish", finish)
    with pytest.raises(AlreadyExists, match="has come or was changed meanwhile"):
        lake.checkout(folder).pull()
    assert (folder / "new.txt").read_text() == "here"


@pytest.mark.parametrize("removed", [False, True])
def test_a_file_that_is_changed_while_others_are_written_stays(
    lake: Lake, main: Branch, folder: Path, monkeypatch: pytest.MonkeyPatch, removed: bool
) -> None:
    if removed:
        main.delete("a.txt")
    else:
        main.put("a.txt", b"there")
    main.commit("there")
    inner = state.save

    def save(*given: Any) -> None:
        inner(*given)
        (folder / "a.txt").write_text("here")

    monkeypatch.setattr(state, "save", save)
    with pytest.raises(AlreadyExists, match="was changed meanwhile"):
        lake.checkout(folder).pull()
    assert (folder / "a.txt").read_text() == "here"


@pytest.mark.parametrize("what", ["longer", "other", "gone", "link"])
def test_a_file_that_is_changed_while_it_is_committed(
    lake: Lake, main: Branch, folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Between the two times that it is read: what is read then may be half of what is being written."""
    (folder / "a.txt").write_text("mine")
    (folder / "new.txt").write_text("new")
    head, inner = main.resolve().id, checkout._changes

    def found(*given: Any) -> Any:
        made = inner(*given)
        if what in ("gone", "link"):
            (folder / "a.txt").unlink()
        if what == "link":
            (folder / "a.txt").symlink_to("new.txt")
        if what in ("longer", "other"):
            (folder / "a.txt").write_text("mine, longer" if what == "longer" else "mi..")
        return made

    with monkeypatch.context() as patched:
        patched.setattr(checkout, "_changes", found)
        with pytest.raises(Conflict, match=r"a\.txt was changed while it was committed"):
            lake.checkout(folder).commit("torn")
    assert main.resolve().id == head
    assert list(lake.repository("demo").workspaces()) == []
    if what in ("longer", "other"):
        lake.checkout(folder).commit("whole")
        assert main.read("a.txt") == (folder / "a.txt").read_bytes()


_KILLED = """
import os, signal, sys
import lochan
from lochan.checkout import transfer

inner, left = transfer.Transfer._finish, [2]

def finish(*given):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return inner(*given)

transfer.Transfer._finish = finish
with lochan.connect(sys.argv[1]) as lake:
    lake.repository("demo").branch("main").checkout(sys.argv[2])
"""


def test_a_process_that_was_killed(main: Branch, tmp_path: Path) -> None:
    url = str(tmp_path / "lake")
    if not (tmp_path / "lake").exists():
        pytest.skip("the lake is elsewhere")
    ended = subprocess.run([sys.executable, "-c", _KILLED, url, tmp_path / "out"], check=False)
    assert ended.returncode == -9
    assert len(list((tmp_path / "out" / state.FOLDER / "parts").iterdir())) == 1
    assert main.checkout(tmp_path / "out").written == 2
    assert files(tmp_path / "out") == FIRST
