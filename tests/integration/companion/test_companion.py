"""The companion runs the same command as the process that the user started: its surroundings, signals and ends; and
whatever stands in its way, the command does its work itself."""

import fcntl
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lochan.cli.companion import place
from lochan.cli.companion.front import verb_of
from tests.integration.companion.running import LOCHAN, PATIENT, RunningCompanion, companion, wait_until


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningCompanion]:
    with companion(tmp_path) as found:
        done = found.run("init")
        assert done.returncode == 0, done.stderr
        assert found.run("repo", "create", "demo").returncode == 0
        yield found


def _put(running: RunningCompanion, path: str, data: bytes = b"one\n") -> None:
    done = running.run("fs", "upload", "-", f"demo@main/{path}", stdin=data)
    assert done.returncode == 0, done.stderr


# --- the same command ------------------------------------------------------------------------------------------------
def test_what_a_command_sees_of_its_process(running: RunningCompanion) -> None:
    """Standard input, the working folder, the environment and the exit code."""
    assert running.is_used("fs", "upload", "-", "demo@main/a.txt", stdin=b"piped\n")
    assert running.run("fs", "cat", "demo@main/a.txt").stdout == b"piped\n"
    (running.home / "there").mkdir()
    (running.home / "there" / "b.txt").write_text("beside\n")
    done = running.run("fs", "upload", "b.txt", "demo@main/b.txt", cwd=running.home / "there")
    assert done.returncode == 0, done.stderr
    assert running.run("commit", "demo", "-m", "x", env={"LOCHAN_USER": "dora"}).returncode == 0
    assert b"dora" in running.run("log", "demo").stdout
    missing = running.run("fs", "stat", "demo@main/nothing")
    assert (missing.returncode, missing.stdout) == (3, b"")
    assert running.run("fs", "stat").returncode == 2
    assert running.run("ls", env={"LOCHAN_LAKE": str(running.home / "no-lake")}).returncode == 3


def test_other_variables_do_not_stay(running: RunningCompanion) -> None:
    assert running.run("ls", env={"LOCHAN_LAKE": "/nowhere"}).returncode == 3
    assert running.run("ls").returncode == 0
    assert running.run("ls", env={"LOCHAN_LOGGIN": "x"}).returncode == 6  # a typo, named by the command itself


def test_closed_streams(running: RunningCompanion) -> None:
    words = " ".join(f"'{word}'" for word in (*PATIENT, "ls"))
    for closed in ("0<&-", "2>&-", "0<&- 2>&-"):
        alone = subprocess.run(["sh", "-c", f"{words} --no-companion {closed}"], env=running.env, cwd=running.home,
                               capture_output=True, timeout=60)  # fmt: skip
        warm = subprocess.run(["sh", "-c", f"{words} {closed}"], env=running.env, cwd=running.home,
                              capture_output=True, timeout=60)  # fmt: skip
        assert (warm.returncode, warm.stdout, warm.stderr) == (alone.returncode, alone.stdout, alone.stderr), closed


def test_umask_and_limits(running: RunningCompanion) -> None:
    _put(running, "a.txt")
    words = " ".join(f"'{word}'" for word in (*PATIENT, "fs", "download", "demo@main/a.txt", "here.txt"))
    for mask, mode in (("0027", 0o640), ("0002", 0o664)):
        (running.home / "here.txt").unlink(missing_ok=True)
        before = running.served()
        alone = subprocess.run(["sh", "-c", f"umask {mask}; ulimit -n 200; {words} --no-companion"], env=running.env,
                               cwd=running.home, capture_output=True, timeout=60)  # fmt: skip
        assert alone.returncode == 0, alone.stderr
        expected = (running.home / "here.txt").stat().st_mode & 0o777
        (running.home / "here.txt").unlink()
        warm = subprocess.run(["sh", "-c", f"umask {mask}; ulimit -n 200; {words}"], env=running.env,
                              cwd=running.home, capture_output=True, timeout=60)  # fmt: skip
        assert warm.returncode == 0, warm.stderr
        assert running.served() == before + 1
        assert (running.home / "here.txt").stat().st_mode & 0o777 == expected, (mask, mode)


def test_a_long_command_line(running: RunningCompanion) -> None:
    """As much as the kernel lets a process have."""
    message = "m" * 100_000
    _put(running, "a.txt")
    many = [f"--meta=k{number}={'v' * 50_000}" for number in range(10)]
    done = running.run("commit", "demo", "-m", message, *many)
    assert done.returncode in (0, 6), done.stderr[:300]
    alone = running.run("commit", "demo", "-m", message, *many, "--no-companion")
    assert alone.returncode in (0, 6)


def test_a_pipe_that_nobody_reads(running: RunningCompanion) -> None:
    _put(running, "big", b"x" * 5_000_000)
    process = running.begin("fs", "cat", "demo@main/big")
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(60) == 141
    process.communicate()


# --- signals ---------------------------------------------------------------------------------------------------------
def _reading(running: RunningCompanion) -> subprocess.Popen[bytes]:
    """A command in the companion that waits for its standard input."""
    before = running.note["asked"]
    process = running.begin("fs", "upload", "-", "demo@main/never")
    wait_until(lambda: running.note["asked"] > before and running.note["running"] == 1 and bool(_children(running)))
    assert process.stdin is not None
    process.stdin.write(b"begun")
    process.stdin.flush()
    wait_until(lambda: _left(process) == 0)
    return process


def _left(process: subprocess.Popen[bytes]) -> int:
    """How many bytes of its standard input nobody has read."""
    assert process.stdin is not None
    return int.from_bytes(fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)), sys.byteorder)


def _children(running: RunningCompanion) -> list[int]:
    return [int(text) for text in Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()]


@pytest.mark.parametrize(
    "number, code", [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
)
def test_a_signal_ends_the_work(running: RunningCompanion, number: signal.Signals, code: int) -> None:
    process = _reading(running)
    (child,) = _children(running)
    process.send_signal(number)
    assert process.wait(60) == code  # its standard input is open still
    process.communicate()
    wait_until(lambda: not _children(running))
    assert not Path(f"/proc/{child}").exists()
    assert running.run("fs", "stat", "demo@main/never").returncode == 3


@pytest.mark.parametrize("words", [("fs", "upload", "-", "demo@main/never"), ("load", "logs", "-")], ids=str)
def test_a_signal_ends_the_work_of_a_command_alone(running: RunningCompanion, words: tuple[str, ...]) -> None:
    assert running.run("create", "logs", "--key", "n").returncode == 0
    process = running.begin("--no-companion", *words)
    assert process.stdin is not None
    process.stdin.write(b'{"n": 1}')
    process.stdin.flush()
    wait_until(lambda: _left(process) == 0)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()
    assert running.run("fs", "stat", "demo@main/never").returncode == 3
    assert running.run("query", "from logs").stdout == b""


def test_a_front_that_is_killed_takes_its_work_with_it(running: RunningCompanion) -> None:
    process = _reading(running)
    process.kill()
    process.wait(60)
    process.communicate()
    wait_until(lambda: not _children(running))
    assert running.is_used("ls")


def test_a_command_that_is_killed_says_so(running: RunningCompanion) -> None:
    process = _reading(running)
    os.kill(_children(running)[0], signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    process.communicate()


def test_a_command_goes_on_if_the_companion_is_killed(running: RunningCompanion) -> None:
    process = _reading(running)
    os.kill(running.pid, signal.SIGKILL)
    stdout, stderr = process.communicate(b"all of it\n", timeout=60)
    assert (process.returncode, stderr) == (0, b"")
    assert stdout.startswith(b"uploaded")
    assert running.run("fs", "cat", "demo@main/never").stdout == b"begunall of it\n"  # by itself: there is no companion
    running.start()
    assert running.is_used("ls")


def test_if_both_are_killed_the_outcome_is_unknown(running: RunningCompanion) -> None:
    process = _reading(running)
    (child,) = _children(running)
    os.kill(running.pid, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 9
    assert b"may have been made" in stderr


def test_it_is_stopped_and_goes_on(running: RunningCompanion) -> None:
    process = _reading(running)
    (child,) = _children(running)
    process.send_signal(signal.SIGTSTP)
    wait_until(lambda: _state(child) == "T" and _state(process.pid) == "T")
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: _state(child) != "T")
    stdout, _ = process.communicate(b"x", timeout=60)
    assert process.returncode == 0
    assert stdout.startswith(b"uploaded")


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_companion_that_is_stuck(running: RunningCompanion) -> None:
    """It is asked in vain, and the command does its work itself; once it goes on it finds nobody, and does nothing."""
    os.kill(running.pid, signal.SIGSTOP)
    try:
        done = running.run("repo", "create", "once", command=(LOCHAN,))
    finally:
        os.kill(running.pid, signal.SIGCONT)
    assert done.returncode == 0, done.stderr
    assert running.served() >= 0
    assert running.run("ls", "-f", "json").stdout.count(b'"once"') == 1


# --- who may use it --------------------------------------------------------------------------------------------------
def test_folder_and_socket_are_private(running: RunningCompanion) -> None:
    assert running.folder.stat().st_mode & 0o777 == 0o700
    (file,) = running.folder.glob("*.sock")
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONUTF8": "1"},
        {"LD_LIBRARY_PATH": "/nowhere"},
        {"LOCHAN_COMPANION": "0"},
        {"LOCHAN_COMPANION": "no"},
    ],
    ids=str,
)
def test_a_command_with_these_variables_does_its_work_itself(running: RunningCompanion, env: dict[str, str]) -> None:
    assert running.is_used("ls")
    assert not running.is_used("ls", env=env)


_CONFINED = "import ctypes, os, sys; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"


def test_a_confined_command_does_its_work_itself(running: RunningCompanion) -> None:
    """Here by the flag that a sandbox sets before it filters system calls (PR_SET_NO_NEW_PRIVS)."""
    assert running.is_used("ls")
    assert not running.is_used("ls", command=(sys.executable, "-c", _CONFINED, *PATIENT))


def test_a_command_that_wants_none(running: RunningCompanion) -> None:
    assert not running.is_used("ls", "--no-companion")
    assert not running.is_used("--no-companion", "ls")
    assert running.is_used("ls", command=(sys.executable, "-c", PATIENT[2]))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become others")
def test_a_socket_of_another_user_is_not_used(tmp_path: Path) -> None:
    """Somebody has put folder and socket where ours would be, and waits for our commands."""
    planted = RunningCompanion(tmp_path)
    planted.folder.mkdir(0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(planted.folder / f"{place.name()}.sock"))
        listener.listen()
        listener.settimeout(0)
        for path in (planted.folder, planted.folder / f"{place.name()}.sock"):
            os.chown(path, 65534, 65534)
            assert planted.run("init", str(tmp_path / path.name), command=(LOCHAN,)).returncode == 0
            assert planted.run("ls", env={"LOCHAN_LAKE": str(tmp_path / path.name)}).returncode == 0
            os.chown(path, 0, 0)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_link_in_place_of_the_folder_is_not_used(running: RunningCompanion) -> None:
    elsewhere = running.folder.with_name("elsewhere")  # on the same disk
    running.folder.rename(elsewhere)
    running.folder.symlink_to(elsewhere)
    done = running.run("ls")
    assert done.returncode == 0
    running.folder.unlink()
    elsewhere.rename(running.folder)
    assert running.note["commands"] == running.served()


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o777])
def test_a_folder_that_others_can_open_is_not_used(running: RunningCompanion, mode: int) -> None:
    running.folder.chmod(mode)
    assert not running.is_used("ls")
    running.folder.chmod(0o700)
    assert running.is_used("ls")


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff" * 8,  # as long as can be told
        (1 << 40).to_bytes(8, "big") + b"x" * 1000,
        len(place.hello()).to_bytes(8, "big") + place.hello() + b"\xff" * 8,
        len(place.hello()).to_bytes(8, "big") + place.hello() + (4).to_bytes(8, "big") + b"junk",
    ],
    ids=["nothing", "another protocol", "a length", "too long", "a request too long", "no request"],
)
def test_a_peer_that_sends_something_else(running: RunningCompanion, sent: bytes) -> None:
    (file,) = running.folder.glob("*.sock")
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(60)
        peer.connect(str(file))
        peer.sendall(sent)
        peer.shutdown(socket.SHUT_WR)
        found = b""
        with suppress(ConnectionResetError):  # it has not read all of it
            while piece := peer.recv(100):
                found += piece
    assert found[:1] in (b"", b"H", b"N")  # at most it says who it is, or that it runs nothing
    assert running.is_used("ls")


def test_a_child_that_was_not_told_to_go(running: RunningCompanion) -> None:
    """As if its patience had just ended. It has done nothing, and the command is not taken for done."""
    late = (*PATIENT[:-1], f"from lochan.cli.companion import wire; wire.GO = b'?'\n{PATIENT[-1]}")
    before = running.served()
    done = running.run("repo", "create", "late", command=late)
    assert done.returncode == 0, done.stderr
    assert b"late" in running.run("ls").stdout
    assert running.served() == before + 1  # by `ls` alone


def test_many_peers_that_say_nothing(running: RunningCompanion) -> None:
    """They hold all places. A command does its work itself meanwhile, and the companion is there again after them."""
    (file,) = running.folder.glob("*.sock")
    peers = [socket.socket(socket.AF_UNIX) for _ in range(40)]
    for peer in peers:
        peer.connect(str(file))
    assert running.run("ls", command=(LOCHAN,)).returncode == 0
    for peer in peers:
        peer.close()
    assert running.is_used("ls")


def test_a_disk_without_room_for_its_note(tmp_path: Path) -> None:
    """Here every write to a file fails, as on a full disk."""
    full = "import os, errno\ndef full(*_): raise OSError(errno.ENOSPC, 'No space left on device')\nos.pwrite = full\n"
    running = RunningCompanion(tmp_path)
    words = [sys.executable, "-P", "-c", f"{full}import sys\nsys.argv[1:] = ['60']\nfrom lochan.cli.companion.serve "
             "import main\nmain()"]  # fmt: skip
    subprocess.run(words, env=running.env, check=True, timeout=60)
    wait_until(lambda: any(running.folder.glob("*.sock")))
    (file,) = running.folder.glob("*.sock")
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(file))
        pid = int.from_bytes(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4), sys.byteorder)
    assert running.run("init").returncode == 0
    assert running.run("ls").returncode == 0
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not file.exists())


def test_a_runtime_folder_that_others_can_write_to(tmp_path: Path) -> None:
    """They could put anything in the place of ours: the one in /tmp is used."""
    running = RunningCompanion(tmp_path)
    running.runtime.chmod(0o770)
    code = "from lochan.cli.companion import place; print(place.folder())"
    found = running.run("-c", code, command=(sys.executable,))
    assert found.stdout.decode().strip() in ("None", f"/tmp/.lochan-{os.geteuid()}")
    assert not running.folder.exists()


# --- what changes beneath it -----------------------------------------------------------------------------------------
def test_writes_of_others_are_seen(running: RunningCompanion) -> None:
    for number in range(5):
        done = running.run("fs", "upload", "-", f"demo@main/{number}", "--no-companion", stdin=b"x")
        assert done.returncode == 0, done.stderr
        assert running.run("fs", "stat", f"demo@main/{number}").returncode == 0
        _put(running, f"warm-{number}")
        assert running.run("fs", "stat", f"demo@main/warm-{number}", "--no-companion").returncode == 0


def test_a_lake_that_is_deleted_and_made_again(running: RunningCompanion) -> None:
    for _ in range(3):
        _put(running, "a.txt")
    shutil.rmtree(running.home / ".lochan")
    assert running.run("ls", env={"LOCHAN_LAKE": str(running.home / ".lochan")}).returncode == 3
    assert running.run("init").returncode == 0
    assert running.run("ls").stdout.count(b"demo") == 0
    assert running.run("repo", "create", "demo").returncode == 0
    assert running.run("fs", "stat", "demo@main/a.txt").returncode == 3


def test_an_older_copy_in_its_place(running: RunningCompanion) -> None:
    """The same lake and the same repository, but without what was done since: the companion has seen more."""
    lake, copy = running.home / ".lochan", running.home / "copy"
    _put(running, "first.txt")
    shutil.copytree(lake, copy)
    for number in range(3):
        _put(running, f"later-{number}.txt")
    assert running.run("fs", "stat", "demo@main/later-2.txt").returncode == 0
    running.served()
    shutil.rmtree(lake)
    copy.rename(lake)
    assert running.run("fs", "stat", "demo@main/later-2.txt").returncode == 3
    _put(running, "other.txt")
    for companion_or_not in ([], ["--no-companion"]):
        listed = running.run("fs", "ls", "demo@main/", *companion_or_not).stdout
        assert b"other.txt" in listed and b"later" not in listed
    assert running.run("fsck").returncode == 0


def test_it_ends_when_its_code_changes(tmp_path: Path) -> None:
    """A package that is replaced beneath it: here a copy of ours."""
    copied = tmp_path / "code"
    shutil.copytree(Path(place.package()), copied / "lochan", ignore=shutil.ignore_patterns("__pycache__"))
    running = RunningCompanion(tmp_path)
    running.env["PYTHONPATH"] = str(copied)
    running.start()
    assert running.run("init").returncode == 0
    assert running.is_used("ls")
    assert running.note["package"] == str(copied / "lochan")
    pid = running.pid
    changed = copied / "lochan" / "cli" / "lake.py"
    changed.write_text(changed.read_text().replace("List repositories and pools", "Show repositories and pools"))
    done = running.run("ls", "--help")
    assert b"Show repositories and pools" in done.stdout
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


# --- how it comes and goes -------------------------------------------------------------------------------------------
def test_two_that_are_started_at_once(tmp_path: Path) -> None:
    running = RunningCompanion(tmp_path)
    words = [sys.executable, "-P", "-m", "lochan.cli.companion.serve", "60"]
    for process in [subprocess.Popen(words, env=running.env) for _ in range(4)]:
        assert process.wait(60) == 0
    wait_until(lambda: len(list(running.folder.glob("*.sock"))) == 1)
    status = running.run("companion", "status", "-f", "json").stdout
    assert status.count(b'"pid"') == 1
    assert b"stopped 1 companion" in running.run("companion", "stop").stdout
    assert not list(running.folder.glob("*.sock"))


def test_it_goes_away_when_nobody_asks(tmp_path: Path) -> None:
    running = RunningCompanion(tmp_path)
    running.start(idle_s=0.5)
    wait_until(lambda: not list(running.folder.glob("*.sock")))


def open_files(process: str) -> set[str]:
    found = set()
    for each in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found.add(str(each.readlink()))
    return found


def test_it_keeps_nothing_of_who_started_it(tmp_path: Path) -> None:
    """The pipe of the command that starts it ends with that command, and the folder can be removed."""
    running = RunningCompanion(tmp_path)
    done = running.run("companion", "start")  # reads its output to the end: an open pipe would never end
    assert done.returncode == 0, done.stderr
    theirs, files = open_files("self"), open_files(str(running.pid))
    its_own = ("socket:", "pipe:", "anon_inode:[pidfd]")  # the last is of a child that it has just forked
    assert all(each == "/dev/null" or "companion-" in each or each.startswith(its_own) for each in files), files
    assert not {each for each in files & theirs if each != "/dev/null"}
    assert str(Path(f"/proc/{running.pid}/cwd").readlink()) == "/"
    assert os.getsid(running.pid) != os.getsid(0)
    assert running.run("companion", "stop").returncode == 0


@pytest.mark.parametrize("typed", [True, False], ids=["typed on a terminal", "in a script"])
def test_it_is_started_by_what_is_typed(tmp_path: Path, typed: bool) -> None:
    running = RunningCompanion(tmp_path)
    assert running.run("init", command=(LOCHAN,)).returncode == 0
    command = f"{LOCHAN} ls" if typed else f"sh -c '{LOCHAN} ls; true'"
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(running.home)
        os.execve("/bin/sh", ["sh", "-c", f"exec {command}"], running.env)
    while True:
        try:
            if not os.read(terminal, 1024):
                break
        except OSError:  # the terminal is gone with its last process: the companion does not keep it
            break
    os.waitpid(pid, 0)
    os.close(terminal)
    if typed:
        wait_until(lambda: any(running.folder.glob("*.sock")))
        assert running.run("companion", "stop").returncode == 0
    else:
        assert not running.folder.exists()


def test_a_script_starts_it_if_the_configuration_says_so(tmp_path: Path) -> None:
    running = RunningCompanion(tmp_path)
    assert running.run("init", command=(LOCHAN,)).returncode == 0
    assert running.run("ls", env={"LOCHAN_COMPANION": "1"}).returncode == 0
    wait_until(lambda: any(running.folder.glob("*.sock")))
    assert running.run("companion", "stop").returncode == 0


@pytest.mark.parametrize(
    "words, verb",
    [
        ("ls", "ls"),
        ("--lake ls log demo", "log"),
        ("--lake=x -s a=b -v fs stat x", "fs"),
        ("log -m --no-companion", None),
        ("log -- --no-companion", "log"),
        ("--profile log serve", "serve"),
        ("--help", None),
        ("", None),
    ],
)
def test_the_verb_of_a_command(words: str, verb: str | None) -> None:
    assert verb_of(words.split()) == verb
