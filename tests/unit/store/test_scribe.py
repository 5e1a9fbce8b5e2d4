"""Small files written by a helper process: the same answers as from threads, whatever happens to it."""

import asyncio
import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from lochan.api.lake import read_events
from lochan.errors import AlreadyExists, LochanError, Refused, Unknown
from lochan.formats.lake_events import UserCreated
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.lake import Lake
from lochan.store import scribe as scribe_module
from lochan.store.local import SCRIBE_BYTES_MAX, LocalStore
from lochan.store.scribe import HEAD, Scribe, answer, keep_scribe, work
from tests.run import run

pytestmark = pytest.mark.skipif(not Scribe.suits(), reason="needs sockets that keep messages apart")


_LONG_S = 3_600.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def test_a_process_of_its_own_writes_small_files(root: Path) -> None:
    async def play() -> None:
        store = LocalStore(str(root), create=True)
        end = store.write_beside()
        await asyncio.gather(*(store.put(f"a/{n % 7}/{n}", b"%d" % n) for n in range(200)))
        await asyncio.gather(*(store.put_if_absent(f"b/{n}", b"%d" % n) for n in range(50)))
        await store.put("a/0/0", b"another")
        assert store._threads._pool is None, "no thread had anything to do"
        await store.put("large", b"x" * (SCRIBE_BYTES_MAX + 1))
        assert store._threads._pool is not None
        end()
        await store.put("later", b"by a thread")

    run(play())
    assert (root / "a/0/0").read_bytes() == b"another"
    assert all((root / f"a/{n % 7}/{n}").read_bytes() == b"%d" % n for n in range(1, 200))
    assert all((root / f"b/{n}").read_bytes() == b"%d" % n for n in range(50))
    assert (root / "large").stat().st_size == SCRIBE_BYTES_MAX + 1
    assert (root / "later").read_bytes() == b"by a thread"
    assert not list((root / ".tmp").iterdir())


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["taken", "folder", "taken/below", "", "../out", "nul\0", "lone\ud800", "k" * 300])
@pytest.mark.parametrize("verb", ["put", "put_if_absent"])
def test_it_fails_as_a_thread_does(root: Path, path: str, verb: str) -> None:
    async def play() -> tuple[list[str], list[str]]:
        store = LocalStore(str(root), create=True)
        await store.put("taken", b"1")
        await store.put("folder/x", b"1")
        by_thread = await _outcome(store, verb, path)
        end = store.write_beside()
        by_scribe = await _outcome(store, verb, path)
        end()
        return by_thread, by_scribe

    by_thread, by_scribe = run(play())
    assert by_scribe == by_thread
    assert by_thread != ["done"] or (verb, path) == ("put", "taken")


async def _outcome(store: LocalStore, verb: str, path: str) -> list[str]:
    try:
        await getattr(store, verb)(path, b"2")
    except LochanError as error:
        return [error.kind, error.message, error.hint]
    return ["done"]


def test_what_it_had_in_hand_when_it_died_is_done_by_threads(root: Path) -> None:
    async def play() -> None:
        store = LocalStore(str(root), create=True)
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        store._scribe = Scribe(ours)
        waiting = [asyncio.create_task(store.put(f"a/{n}", b"1")) for n in range(3)]
        record = asyncio.create_task(store.put_if_absent("journal/1", b"ours"))
        await asyncio.sleep(0.05)  # nothing may be done meanwhile
        assert not any(task.done() for task in (*waiting, record)), "they wait for an answer"
        # As if it had got so far: the file has its name, and nobody has synced the folder.
        (root / "journal").mkdir()
        (root / "journal/1").write_bytes(b"ours")
        its.close()
        await asyncio.gather(*waiting)
        with pytest.raises(AlreadyExists):  # it is read back then; the folder has been synced before
            await record
        await store.put("a/after", b"1")

    run(play())
    assert sorted(path.name for path in (root / "a").iterdir()) == ["0", "1", "2", "after"]


def test_one_that_stands_still_is_killed_and_replaced(root: Path) -> None:
    async def play() -> None:
        store = LocalStore(str(root), create=True)
        used: list[Scribe] = []
        end = _kept(store, used)
        await store.put("before", b"1")
        stopped = used[0]._process
        assert stopped is not None
        os.kill(stopped.pid, signal.SIGSTOP)
        await asyncio.to_thread(os.waitid, os.P_PID, stopped.pid, os.WSTOPPED)  # until then it may answer everything
        async with asyncio.timeout(60):
            puts = [store.put(f"a/{n}", b"%d" % n) for n in range(5)]
            records = [store.put_if_absent(f"b/{n}", b"%d" % n) for n in range(5)]
            asked = asyncio.gather(*puts, *records)
            await _lose_patience(used[0])
            await asked
            assert stopped.poll() == -signal.SIGKILL, "it is dead before anybody does its work again"
            while len(used) == 1:  # noqa: ASYNC110 - another process is started after a pause
                await asyncio.sleep(0.01)
            await store.put("after", b"1")
        assert used[1]._number == 1, "the new one did it"
        end()

    run(play())
    for folder in "ab":
        assert [(root / f"{folder}/{n}").read_bytes() for n in range(5)] == [b"%d" % n for n in range(5)]
    assert (root / "after").read_bytes() == b"1"


def _kept(store: LocalStore, used: list[Scribe]) -> Callable[[], None]:
    """Like `write_beside`; its patience ends when the test decides."""

    def use(scribe: Scribe) -> None:
        used.append(scribe)
        store._scribe = scribe

    return keep_scribe(store._root, use, patience_s=_LONG_S, pause_s=0.01)


async def _lose_patience(scribe: Scribe) -> None:
    """As if that much time had passed since the last request."""
    while not scribe._waiting:  # noqa: ASYNC110 - nobody tells when a request was sent
        await asyncio.sleep(0.01)
    for _ in range(4):
        scribe._look()


def test_a_record_is_appended_once_whatever_the_one_that_stands_still_had_done(root: Path) -> None:
    """It had put the record in its slot and does not answer, or it had done nothing."""

    async def play() -> None:
        store = LocalStore(str(root), create=True)
        lake = await Lake.create(store)
        for name, does_it in (("first", True), ("second", False)):
            ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            store._scribe = scribe = Scribe(ours, patience_s=_LONG_S)
            created = asyncio.create_task(_create_user(lake, name))
            message = await asyncio.to_thread(its.recv, 1 << 20)
            if does_it:
                length = HEAD.unpack_from(message)[2]
                path, data = message[HEAD.size : HEAD.size + length], message[HEAD.size + length :]
                LocalStore(str(root)).put_if_absent_now(path.decode(), data)
            await _lose_patience(scribe)
            await asyncio.wait_for(created, 60)
            its.close()
        lines = [line async for line in read_events(lake)]
        assert [line.payload["name"] for line in lines] == ["first", "second"]
        await lake.close()

    run(play())


async def _create_user(lake: Lake, name: str) -> None:
    journal = await lake.journal()
    await journal.submit(AppendRequest(Actor("ann", "test", ""), lambda state: [UserCreated(name)]))


def test_of_one_that_cannot_be_killed_nobody_knows_what_it_will_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scribe_module, "_KILL_S", 0.1)
    dead = threading.Event()

    class Hanging:
        """Hangs in the kernel, as on a bad disk."""

        def kill(self) -> None:
            pass

        def wait(self, timeout: float | None = None) -> int:
            if not dead.wait(timeout):
                raise subprocess.TimeoutExpired("scribe", timeout or 0)
            return -9

    async def play() -> None:
        store = LocalStore(str(root), create=True)
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ended = asyncio.Event()
        store._scribe = Scribe(ours, Hanging(), patience_s=_LONG_S, ended=ended.set)  # type: ignore[arg-type]
        async with asyncio.timeout(60):
            asked = asyncio.create_task(store.put_if_absent("journal/1", b"ours"))
            await _lose_patience(store._scribe)
            with pytest.raises(Unknown, match="nobody can say whether journal/1 was written"):
                await asked
            assert not ended.is_set()
            await store.put("by a thread", b"1")
            dead.set()
            await ended.wait()
        its.close()

    run(play())


def test_one_that_takes_its_time_for_each_is_left_alone(root: Path) -> None:
    """Many are in hand all the time, and none for long."""

    async def play() -> None:
        store = LocalStore(str(root), create=True)
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        store._scribe = scribe = Scribe(ours, patience_s=_LONG_S)
        for number in range(40):
            task = asyncio.create_task(store.put(f"a/{number}", b"1"))
            message = await asyncio.to_thread(its.recv, 1 << 20)
            scribe._look()
            assert scribe._socket.fileno() >= 0
            its.send(answer(HEAD.unpack_from(message)[0], None))
            await task
        scribe.close()
        its.close()

    run(play())


def test_a_killed_one_is_missed_by_nobody(root: Path) -> None:
    async def play() -> None:
        store = LocalStore(str(root), create=True)
        end = store.write_beside()
        await store.put("before", b"1")
        assert store._scribe is not None
        assert store._scribe._process is not None
        store._scribe._process.kill()
        await asyncio.gather(*(store.put(f"a/{n}", b"1") for n in range(20)))
        end()

    run(play())
    assert len(list((root / "a").iterdir())) == 20


def test_one_that_does_not_understand_ends_and_is_replaced_by_threads(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def play() -> None:
        store = LocalStore(str(root), create=True)
        end = store.write_beside()
        await store.put("before", b"1")
        assert store._scribe is not None
        store._scribe._socket.send(b"\0" * 8 + b"\0" + b"\x01\0" + b"\xff")  # a path that is no text
        assert store._scribe._process is not None
        assert await asyncio.to_thread(store._scribe._process.wait, 20) == 1
        await store.put_if_absent("after", b"1")
        end()

    run(play())
    assert (root / "after").read_bytes() == b"1"
    assert "UnicodeDecodeError" in capfd.readouterr().err


def test_it_imports_nothing_of_the_folder_that_it_is_started_in(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("signal", "socket", "msgspec"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported what lies about')")
    monkeypatch.chdir(tmp_path)

    async def play() -> None:
        store = LocalStore(str(root), create=True)
        end = store.write_beside()
        await store.put("a", b"1")
        assert store._threads._pool is None, "the scribe did it"
        end()

    run(play())


def test_a_folder_that_it_could_not_sync_is_believed_by_nobody_here(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other end is a thread of this process, whose syncs can be made to fail."""

    async def play() -> None:
        store = LocalStore(str(root), create=True)
        await store.put("a/old", b"1")
        await store.put("b/old", b"1")
        with _in_thread(store, root), monkeypatch.context() as patch:
            await store.put("a/new", b"1")
            patch.setattr(os, "fsync", _failing(os.fsync))
            with pytest.raises(Unknown, match="could not be synced"):
                await store.put_if_absent("a/k", b"1")
        with pytest.raises(Unknown):
            await store.get("a/k")
        assert await store.get("b/old") == b"1"
        for verb in (store.put, store.put_if_absent):
            with pytest.raises(Refused, match="could not be synced"):
                await verb("b/k", b"")

    run(play())


@contextmanager
def _in_thread(store: LocalStore, root: Path) -> Iterator[None]:
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    thread = threading.Thread(target=work, args=(its, LocalStore(str(root))))
    thread.start()
    store._scribe = scribe = Scribe(ours)
    try:
        yield
    finally:
        scribe.close()
        thread.join()
        its.close()
        store._scribe = None


def _failing(fsync: object) -> object:
    def broken(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(fd)  # type: ignore[operator]

    return broken


def test_a_cancelled_waiter_harms_nobody(root: Path) -> None:
    async def play() -> None:
        store = LocalStore(str(root), create=True)
        end = store.write_beside()
        left = asyncio.create_task(store.put("left", b"1"))
        await asyncio.sleep(0)
        left.cancel()
        with suppress(asyncio.CancelledError):
            await left
        await asyncio.gather(*(store.put(f"a/{n}", b"1") for n in range(20)))
        end()

    run(play())
    assert len(list((root / "a").iterdir())) == 20
    assert (root / "left").read_bytes() == b"1"


_STARTER = """
import asyncio, sys
from lochan.store.local import LocalStore
async def main():
    store = LocalStore(sys.argv[1], create=True)
    store.write_beside()
    await store.put("ready", b"")
    print(store._scribe._process.pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.mark.thorough
def test_it_ends_with_its_parent_and_not_before(root: Path) -> None:
    starter = subprocess.Popen([sys.executable, "-c", _STARTER, str(root)], stdout=subprocess.PIPE)
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # those are for the server, which ends it
        os.kill(pid, number)
    time.sleep(0.2)  # it may not end meanwhile
    assert _is_running(pid)
    starter.kill()
    starter.wait()
    starter.stdout.close()
    deadline = time.monotonic() + 10
    while _is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _is_running(pid)


def _is_running(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
