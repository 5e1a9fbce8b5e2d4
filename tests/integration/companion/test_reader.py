"""One process of the companion runs many commands that only read. None of them sees anything of the one before, and
whatever goes wrong ends that process alone."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lochan.cli.companion.front import only_reads
from tests.integration.companion.running import PATIENT, RunningCompanion, companion, wait_until


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningCompanion]:
    with companion(tmp_path) as found:
        for words in (["init"], ["repo", "create", "demo"], ["create", "logs", "--key", "n"]):
            done = found.run(*words)
            assert done.returncode == 0, done.stderr
        done = found.run("load", "logs", "-", stdin=b'{"n": 1}\n{"n": 2}\n')
        assert done.returncode == 0, done.stderr
        _put(found, "a.txt")
        yield found


def _put(running: RunningCompanion, path: str, *words: str, data: bytes = b"one\n") -> None:
    done = running.run("fs", "upload", "-", f"demo@main/{path}", *words, stdin=data)
    assert done.returncode == 0, done.stderr


def _readers(running: RunningCompanion) -> list[int]:
    running.served()  # until no command runs: what is left is the reader
    return [int(pid) for pid in Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()]


def _reader(running: RunningCompanion, *words: str) -> int:
    """Repeats a command until the companion has all that it needs, and returns the process that stays."""
    for _ in range(10):
        assert running.run(*words).returncode == 0
        before = _readers(running)
        assert running.run(*words).returncode == 0
        if before and _readers(running) == before:
            return before[0]
    raise AssertionError(f"no process stays after {words}")


READING = [
    ("ls",),
    ("ls", "demo"),
    ("branch", "list", "demo"),
    ("tag", "list", "demo"),
    ("repo", "show", "demo"),
    ("fs", "stat", "demo@main/a.txt"),
    ("fs", "ls", "demo@main/"),
    ("log", "demo"),
    ("show", "demo"),
    ("status", "demo"),
    ("diff", "demo@main"),
    ("diff", "demo@main", "demo@main"),
    ("query", "from logs | sort n"),
]


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_commands_that_read_share_a_process(running: RunningCompanion, words: tuple[str, ...]) -> None:
    reader = _reader(running, *words)
    alone, warm = running.run(*words, "--no-companion"), running.run(*words)
    assert (warm.returncode, warm.stdout, warm.stderr) == (alone.returncode, alone.stdout, alone.stderr)
    assert _readers(running) == [reader]


def test_many_different_commands_in_one_process(running: RunningCompanion) -> None:
    expected = [running.run(*words, "--no-companion").stdout for words in READING]
    for _ in range(3):
        assert [running.run(*words).stdout for words in READING] == expected
    reader = _reader(running, "ls")
    assert [running.run(*words).stdout for words in READING] == expected
    assert _readers(running) == [reader]


def test_writes_are_seen(running: RunningCompanion) -> None:
    for number in range(4):
        _reader(running, "fs", "ls", "demo@main/")
        _put(running, f"{number}.txt", *(["--no-companion"] if number % 2 else []))
        assert f"{number}.txt".encode() in running.run("fs", "ls", "demo@main/").stdout
        assert running.run("fs", "stat", f"demo@main/{number}.txt").returncode == 0
        assert running.run("load", "logs", "-", stdin=b'{"n": %d}' % (10 + number)).returncode == 0
        assert running.run("query", "from logs | count()").stdout == b'{"count":%d}\n' % (3 + number)


def test_nothing_of_a_command_stays(running: RunningCompanion) -> None:
    """Its folder, its variables, its streams and its mask."""
    other = running.home / "other"
    other.mkdir()
    assert running.run("init", cwd=other).returncode == 0
    assert running.run("repo", "create", "elsewhere", cwd=other).returncode == 0
    reader = _reader(running, "ls")
    for _ in range(3):
        assert b"elsewhere" in running.run("ls", cwd=other).stdout
        assert b"elsewhere" in running.run("ls", env={"LOCHAN_LAKE": str(other / ".lochan")}).stdout
        assert b"elsewhere" not in running.run("ls").stdout
    assert (
        running.run("ls", cwd=other, env={"COLUMNS": "20", "TZ": "Asia/Tokyo", "LOCHAN_USER": "dora"}).returncode == 0
    )
    (reader,) = _readers(running)
    process = Path(f"/proc/{reader}")
    assert str((process / "cwd").readlink()) == "/"
    assert {str((process / "fd" / number).readlink()) for number in "012"} == {os.devnull}
    assert b"elsewhere" not in running.run("ls").stdout


def test_other_surroundings_end_it(running: RunningCompanion) -> None:
    """A command with a closed stream, an ignored signal or other limits is run as ever, and not by a process that
    stays."""
    words = " ".join(f"'{word}'" for word in (*PATIENT, "ls"))
    expected = running.run("ls").stdout
    for surroundings in (f"{words} 0<&-", f"trap '' USR1; {words}", f"ulimit -n 200; {words}", f"nice -n 1 {words}"):
        before = running.served()
        _reader(running, "ls")
        done = subprocess.run(["sh", "-c", surroundings], env=running.env, cwd=running.home, capture_output=True,
                              timeout=60)  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, b""), surroundings
        assert running.served() > before
    (reader,) = _readers(running) or [_reader(running, "ls")]
    assert os.getpriority(os.PRIO_PROCESS, reader) == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_failure_ends_it(running: RunningCompanion) -> None:
    reader = _reader(running, "fs", "stat", "demo@main/a.txt")
    missing = running.run("fs", "stat", "demo@main/nothing")
    assert (missing.returncode, missing.stdout) == (3, b"")
    assert reader not in _readers(running)
    assert running.is_used("fs", "stat", "demo@main/a.txt")


# --- while it runs a command -----------------------------------------------------------------------------------------
def _asking(running: RunningCompanion) -> tuple[subprocess.Popen[bytes], int]:
    """A command in the reader that waits for its standard input."""
    reader = _reader(running, "query", "from logs | sort n")
    before = running.note["asked"]
    process = running.begin("query", "-")
    wait_until(lambda: running.note["asked"] > before and running.note["running"] == 1 and _reads(reader, process))
    return process, reader


def _reads(reader: int, process: subprocess.Popen[bytes]) -> bool:
    """Whether it waits for the standard input of that command."""
    assert process.stdin is not None
    pipe = Path(f"/proc/self/fd/{process.stdin.fileno()}").readlink()
    waits = Path(f"/proc/{reader}/wchan").read_text()
    return Path(f"/proc/{reader}/fd/0").readlink() == pipe and "pipe" in waits


def test_others_do_not_wait_for_it(running: RunningCompanion) -> None:
    process, reader = _asking(running)
    alone = running.run("ls", "--no-companion").stdout
    assert [running.run("ls").stdout for _ in range(2)] == [alone, alone]
    stdout, stderr = process.communicate(b"from logs | sort n", timeout=60)
    assert (process.returncode, stdout, stderr) == (0, b'{"n":1}\n{"n":2}\n', b"")
    assert _readers(running) in ([reader], [])  # the others may have brought something new


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_ends_the_work(running: RunningCompanion, number: signal.Signals, code: int) -> None:
    process, reader = _asking(running)
    process.send_signal(number)
    assert process.wait(60) == code
    process.communicate()
    assert reader not in _readers(running)
    assert running.is_used("ls")


def test_a_front_that_is_killed_takes_its_work_with_it(running: RunningCompanion) -> None:
    process, reader = _asking(running)
    process.kill()
    process.wait(60)
    process.communicate()
    wait_until(lambda: not Path(f"/proc/{reader}").exists())
    assert running.is_used("ls")


def test_a_reader_that_is_killed(running: RunningCompanion) -> None:
    process, reader = _asking(running)
    os.kill(reader, signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    process.communicate()
    reader = _reader(running, "ls")
    os.kill(reader, signal.SIGKILL)
    assert running.run("ls").returncode == 0
    reader = _reader(running, "ls")
    os.kill(reader, signal.SIGINT)  # as if it came late from a front
    wait_until(lambda: not Path(f"/proc/{reader}").exists())
    assert running.is_used("ls")


def test_a_command_goes_on_if_the_companion_is_killed(running: RunningCompanion) -> None:
    process, reader = _asking(running)
    companion_pid = running.pid
    os.kill(companion_pid, signal.SIGKILL)
    wait_until(lambda: not _is_there(companion_pid))
    stdout, stderr = process.communicate(b"from logs | sort n", timeout=60)
    assert (process.returncode, stdout, stderr) == (0, b'{"n":1}\n{"n":2}\n', b"")
    wait_until(lambda: not _is_there(reader))
    running.start()


def test_it_goes_with_the_companion(running: RunningCompanion) -> None:
    reader, companion_pid = _reader(running, "ls"), running.pid
    os.kill(companion_pid, signal.SIGTERM)
    wait_until(lambda: not _is_there(reader) and not _is_there(companion_pid))
    running.start()


def _is_there(pid: int) -> bool:
    """A process whose parent has ended may stay as a zombie for a while."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    "words, reads",
    [
        ("ls", True),
        ("--lake x fs ls demo", True),
        ("fs stat demo@main/a --lake fs", True),
        ("--lake=fs query text", True),
        ("--lake fs fs ls demo", False),  # it is only quicker to know, and so it may be mistaken on this side
        ("fs rm demo@main/ls", False),
        ("branch create demo@ls", False),
        ("commit ls -m x", False),
        ("--no-companion ls", False),
        ("", False),
    ],
)
def test_which_commands_only_read(words: str, reads: bool) -> None:
    assert only_reads(words.split()) is reads
