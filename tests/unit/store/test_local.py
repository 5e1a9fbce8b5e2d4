"""The local store: what is synced and in which order, failing disks, and that a small read never waits."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lochan import failpoints
from lochan.errors import AlreadyExists, DiskFull, Invalid, LochanError, NotFound, Refused, Transient, Unknown
from lochan.store.local import LocalStore
from tests.run import run
from tests.store_contract import chunks, joined, paths
from tests.unit.store.clocks import StillClock


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def store(root: Path) -> LocalStore:
    return LocalStore(str(root), create=True)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, store: LocalStore, root: Path) -> Iterator[list[str]]:
    """The system calls that matter, in order."""
    seen: list[str] = []
    real: dict[str, Any] = {name: getattr(os, name) for name in ("fsync", "link", "rename", "mkdir")}

    def fsync(fd: int) -> None:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        kind = "folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file"
        seen.append(f"sync {kind} {path.relative_to(root) if kind == 'folder' else '.tmp'}")
        real["fsync"](fd)

    def moved(name: str) -> Callable[[bytes, bytes], None]:
        def move(source: bytes, target: bytes) -> None:
            seen.append(f"{name} {Path(os.fsdecode(target)).relative_to(root)}")
            real[name](source, target)

        return move

    def mkdir(path: bytes, mode: int = 0o777) -> None:
        seen.append(f"mkdir {Path(os.fsdecode(path)).relative_to(root)}")
        real["mkdir"](path, mode)

    run(store.put("warm", b""))  # so that .tmp is there
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", moved("link"))
    monkeypatch.setattr(os, "rename", moved("rename"))
    monkeypatch.setattr(os, "mkdir", mkdir)
    yield seen
    monkeypatch.undo()


def test_a_create_syncs_the_file_then_links_then_syncs_the_folder(store: LocalStore, steps: list[str]) -> None:
    run(store.put_if_absent("k", b"1"))
    assert steps == ["sync file .tmp", "link k", "sync folder ."]


def test_a_put_syncs_the_file_then_renames_then_syncs_the_folder(store: LocalStore, steps: list[str]) -> None:
    run(store.put("k", b"1"))
    run(store.put_stream("k", chunks(3, 3)))
    assert steps == ["sync file .tmp", "rename k", "sync folder ."] * 2


def test_a_stream_is_put_where_nothing_is_and_otherwise_elsewhere(store: LocalStore, steps: list[str]) -> None:
    assert run(store.put_stream_if_absent("k", "other", chunks(3, 3))) == ("k", 9)
    assert run(store.put_stream_if_absent("k", "other", chunks(2, 2))) == ("other", 4)
    assert (run(store.head("k")).size, run(store.head("other")).size) == (9, 4)
    linked = ["sync file .tmp", "link k", "sync folder ."]
    assert steps == [*linked, *linked, "rename other", "sync folder ."]


@pytest.mark.parametrize("path", ["warm/below", "folder", "k" * 300, f"{'k' * 300}/x"])
def test_a_stream_is_put_elsewhere_where_no_file_can_have_the_name(store: LocalStore, root: Path, path: str) -> None:
    run(store.put("warm", b""))
    run(store.put("folder/k", b""))
    assert run(store.put_stream_if_absent(path, "a/new", chunks(2, 2))) == ("a/new", 4)
    assert run(paths(store)) == ["a/new", "folder/k", "warm"]
    assert list((root / ".tmp").iterdir()) == []


def test_a_stream_that_breaks_off_is_put_nowhere(store: LocalStore, root: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"1"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        run(store.put_stream_if_absent("k", "other", broken()))
    assert run(paths(store)) == []
    assert list((root / ".tmp").iterdir()) == []


def test_new_folders_are_synced_into_their_parents_before_the_link_and_once(
    store: LocalStore, steps: list[str]
) -> None:
    run(store.put_if_absent("a/b/k", b"1"))
    made = ["mkdir a", "mkdir a/b", "sync folder a", "sync folder ."]
    assert steps == ["sync file .tmp", *made, "link a/b/k", "sync folder a/b"]
    steps.clear()
    run(store.put_if_absent("a/b/l", b"1"))
    assert steps == ["sync file .tmp", "link a/b/l", "sync folder a/b"]


def test_a_folder_that_another_process_made_is_synced_too(store: LocalStore, steps: list[str], root: Path) -> None:
    (root / "a").mkdir()
    steps.clear()
    run(store.put_if_absent("a/k", b"1"))
    assert steps == ["sync file .tmp", "sync folder .", "link a/k", "sync folder a"]


def test_a_folder_made_again_is_synced_again(store: LocalStore, steps: list[str], root: Path) -> None:
    run(store.put("a/k", b"1"))
    run(store.delete("a/k"))
    assert not (root / "a").exists()
    steps.clear()
    run(store.put("a/k", b"1"))
    assert "sync folder ." in steps


def test_what_a_rival_made_is_synced_before_we_say_that_it_is_there(store: LocalStore, steps: list[str]) -> None:
    run(store.put("k", b"1"))
    steps.clear()
    with pytest.raises(AlreadyExists):
        run(store.put_if_absent("k", b"2"))
    assert steps == ["sync file .tmp", "link k", "sync folder ."]


def test_a_new_root_is_synced_into_its_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(str(Path(f"/proc/self/fd/{fd}").readlink())))
    LocalStore(str(tmp_path / "x" / "y"), create=True)
    assert synced == [str(tmp_path), str(tmp_path / "x")]


def test_failpoints_are_passed_in_order(store: LocalStore) -> None:
    passed: list[str] = []
    failpoints.arm(passed.append)
    try:
        run(store.put_if_absent("k", b"1"))
    finally:
        failpoints.arm(None)
    steps = ["before_temp", "temp_written", "after_temp_sync", "after_link", "after_folder_sync"]
    assert passed == [f"local.{step}" for step in steps]


NO_ROOM = [pytest.param(errno.ENOSPC, id="no space"), pytest.param(errno.EDQUOT, id="quota")]


@pytest.mark.parametrize("number", NO_ROOM)
@pytest.mark.parametrize("call", ["open", "write", "fsync", "link", "mkdir"])
def test_a_full_disk_leaves_nothing_and_takes_nothing(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    run(store.put("old", b"as it was"))
    with monkeypatch.context() as patch:
        fail(patch, call, number)
        with pytest.raises(DiskFull, match="folder/k"):
            run(store.put_if_absent("folder/k", b"1"))
    assert files(root) == ["old"]
    assert run(store.get("old")) == b"as it was"
    run(store.put_if_absent("folder/k", b"1"))
    assert run(store.get("folder/k")) == b"1"


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_file_that_fails_to_sync_is_dropped_and_never_seen(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    calls = 0

    def broken(*_: object) -> None:
        nonlocal calls
        calls += 1
        raise OSError(errno.EIO, "Input/output error")

    run(store.put("warm", b""))
    for verb in (store.put_if_absent, store.put):
        calls = 0
        with monkeypatch.context() as patch:
            patch.setattr(os, call, broken)
            with pytest.raises(Transient, match="Input/output error"):
                run(verb("k", b"1"))
        assert calls == 1, "a failed sync is never repeated"
        assert files(root) == ["warm"]


@pytest.mark.parametrize("verb", ["put_if_absent", "put"])
def test_a_folder_that_fails_to_sync_is_unknown_and_stops_all_writing(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    run(store.put("a/old", b"1"))
    run(store.put("b/old", b"1"))
    with monkeypatch.context() as patch:
        fail_folder_sync(patch)
        with pytest.raises(Unknown, match="could not be synced"):
            run(getattr(store, verb)("a/k", b"1"))
    # The name is in the page cache. To read it back as a success would be a lie.
    for read in (store.get("a/k"), store.head("a/k"), joined(store.get_stream("a/old"))):
        with pytest.raises(Unknown):
            run(read)
    assert run(store.get("b/old")) == b"1"
    for write in (store.put("b/k", b""), store.put_if_absent("b/k", b""), store.delete("b/old")):
        with pytest.raises(Refused, match="could not be synced"):
            run(write)
    assert run(LocalStore(str(root)).get("a/k")) == b"1"


def test_a_parent_folder_that_fails_to_sync_shows_nothing(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(store.put("warm", b""))
    with monkeypatch.context() as patch:
        fail_folder_sync(patch)
        with pytest.raises(Transient):
            run(store.put_if_absent("new/k", b"1"))
    assert files(root) == ["warm"]
    with pytest.raises(Refused):
        run(store.put_if_absent("new/k", b"1"))


@pytest.mark.parametrize(
    "number, kind",
    [
        pytest.param(errno.EACCES, Refused, id="permission"),
        pytest.param(errno.EROFS, Refused, id="read-only"),
        pytest.param(errno.EMFILE, Transient, id="too many files"),
        pytest.param(errno.EIO, Transient, id="failing disk"),
    ],
)
def test_errors_name_the_path_and_what_to_do(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[LochanError]
) -> None:
    run(store.put("folder/k", b"1"))
    with monkeypatch.context() as patch:
        fail(patch, "open", number)
        for call in (store.get("folder/k"), store.put("folder/k", b"2"), store.put_if_absent("folder/l", b"")):
            with pytest.raises(kind) as caught:
                run(call)
            assert "folder/" in caught.value.message
            assert caught.value.hint
    assert run(store.get("folder/k")) == b"1"


def test_a_file_that_shrinks_while_it_is_read_is_never_a_short_result(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(store.put("k", b"0123456789"))
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: real(fd, min(size, max(0, 4 - at)), at))
    with pytest.raises(Transient, match="shorter"):
        run(store.get("k"))


def test_a_missing_root_is_an_error(root: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        LocalStore(str(root))
    root.write_bytes(b"")
    with pytest.raises(Invalid, match="not a folder"):
        LocalStore(str(root))


@pytest.mark.parametrize("replaced", [False, True], ids=["gone", "replaced by an empty one"])
def test_a_root_that_goes_away_never_looks_empty(store: LocalStore, root: Path, replaced: bool) -> None:
    run(store.put("k", b"1"))
    root.rename(root.with_name("away"))
    if replaced:
        root.mkdir()
    for call in (
        store.get("k"),
        store.head("k"),
        joined(store.get_stream("k")),
        paths(store),
        store.put("k", b""),
        store.put_if_absent("k", b""),
        store.put_stream("k", chunks(1, 1)),
        store.put_stream_if_absent("k", "other", chunks(1, 1)),
        store.delete("k"),
    ):
        with pytest.raises(Refused, match="gone" if not replaced else "not the one that was opened"):
            run(call)
    assert not replaced or list(root.iterdir()) == []


def test_a_segment_too_long_for_the_disk_is_invalid(store: LocalStore) -> None:
    for call in (store.put("k" * 300, b""), store.get("k" * 300), store.put_if_absent(f"{'k' * 300}/x", b"")):
        with pytest.raises(Invalid, match="255 bytes"):
            run(call)


def test_old_temporary_files_are_swept_and_young_ones_kept(root: Path) -> None:
    clock = StillClock()
    LocalStore(str(root), create=True, clock=clock)
    (root / ".tmp").mkdir()
    for name, age in (("old", 90_000), ("young", 3_600)):
        (root / ".tmp" / name).write_bytes(b"")
        os.utime(root / ".tmp" / name, (0, clock.wall() / 1e6 - age))
    store = LocalStore(str(root))
    assert sorted(path.name for path in (root / ".tmp").iterdir()) == ["old", "young"]
    LocalStore(str(root), create=True, clock=clock)
    assert [path.name for path in (root / ".tmp").iterdir()] == ["young"]
    assert store.sweep_temp(60, clock) == 1
    assert run(paths(store)) == []


def test_foreign_files_are_ignored(store: LocalStore, root: Path) -> None:
    run(store.put("a/k", b"1"))
    (root / "a" / "link").symlink_to("/etc/passwd")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff")).write_bytes(b"not UTF-8")
    (root / "empty").mkdir()
    assert run(paths(store)) == ["a/k"]


def test_a_folder_removed_under_a_writer_is_made_again(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run(store.put("a/b/k", b""))
    real = os.link
    left = 3

    def link(source: bytes, target: bytes) -> None:
        nonlocal left
        if left:
            left -= 1
            store._folders.prune(target)
        real(source, target)

    run(store.delete("a/b/k"))
    monkeypatch.setattr(os, "link", link)
    run(store.put_if_absent("a/b/k", b"1"))
    assert left == 0
    assert run(store.get("a/b/k")) == b"1"


def test_a_small_read_never_suspends(store: LocalStore) -> None:
    run(store.put("k", b"1" * 1000))
    for call, answer in (
        (store.get("k"), b"1" * 1000),
        (store.get_range("k", 1, 3), b"11"),
        (anext(store.get_stream("k")), b"1" * 1000),
    ):
        with pytest.raises(StopIteration) as stopped:
            call.send(None) if hasattr(call, "send") else call.__await__().send(None)
        assert stopped.value.value == answer


def test_a_span_read_now_is_the_span(store: LocalStore, root: Path) -> None:
    run(store.put("a/b", b"0123456789"))
    assert store.get_range_now("a/b", 2, 5) == run(store.get_range("a/b", 2, 5)) == b"234"
    with pytest.raises(Invalid, match="past the end"):
        store.get_range_now("a/b", 2, 11)
    with pytest.raises(NotFound):
        store.get_range_now("a/c", 0, 1)
    (root / "a" / "b").unlink()
    with pytest.raises(NotFound):
        store.get_range_now("a/b", 2, 5)


def test_without_a_loop_everything_works_and_asyncio_is_not_imported(tmp_path: Path) -> None:
    script = """
import sys
from lochan.errors import AlreadyExists
from lochan.store.open import open_store
def drive(call):
    try:
        call.send(None)
    except StopIteration as stopped:
        return stopped.value
    raise AssertionError("it waits")
store = open_store(sys.argv[1], create=True)
drive(store.put_if_absent("a/k", b"1"))
try:
    drive(store.put_if_absent("a/k", b"2"))
except AlreadyExists:
    pass
drive(store.put("big", bytes(3 << 20)))
assert drive(store.get("a/k")) == b"1"
assert len(drive(store.get("big"))) == 3 << 20
assert drive(store.head("a/k")).size == 1
loaded = {"asyncio", "obstore", "concurrent.futures"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "lake")], check=True)


def test_of_several_processes_one_wins_each_name(root: Path, store: LocalStore) -> None:
    script = """
import asyncio, sys
from lochan.errors import AlreadyExists
from lochan.store.local import LocalStore
async def play(store, me):
    for number in range(60):
        try:
            await store.put_if_absent(f"race/{number % 3}/{number}", me)
        except AlreadyExists:
            continue
        print(number)
        if number % 3 == 1:
            await store.put(f"gone/{number}/x", b"")
            await store.delete(f"gone/{number}/x")
asyncio.run(play(LocalStore(sys.argv[1]), sys.argv[2].encode()))
"""
    racers = [
        subprocess.Popen([sys.executable, "-c", script, str(root), str(me)], stdout=subprocess.PIPE, text=True)
        for me in range(3)
    ]
    won = {me: racer.communicate()[0].split() for me, racer in enumerate(racers)}
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert sorted(int(number) for numbers in won.values() for number in numbers) == list(range(60))
    for me, numbers in won.items():
        assert {run(store.get(f"race/{int(number) % 3}/{number}")) for number in numbers} <= {b"%d" % me}
    assert list((root / ".tmp").iterdir()) == []


def test_etag_and_time_tell_versions_apart(store: LocalStore, root: Path) -> None:
    run(store.put("k", b"1"))
    first = run(store.head("k"))
    run(store.put("k", b"2"))
    second = run(store.head("k"))
    assert first.etag != second.etag
    assert second.modified == pytest.approx((root / "k").stat().st_mtime)


def fail(patch: pytest.MonkeyPatch, call: str, number: int) -> None:
    """This system call fails, for files; folders may still be opened and synced."""
    real = getattr(os, call)

    def failing(*arguments: Any, **named: Any) -> Any:
        if call == "open" and arguments[1] & os.O_DIRECTORY:
            return real(*arguments, **named)
        raise OSError(number, os.strerror(number))

    patch.setattr(os, call, failing)


def fail_folder_sync(patch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def fsync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        real(fd)

    patch.setattr(os, "fsync", fsync)


def files(root: Path) -> list[str]:
    """Every file, temporary ones too."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
