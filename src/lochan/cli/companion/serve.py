"""Runs the companion: it listens, forks a process for each command, and follows what they read. It has one thread, and
runs until it has been idle for too long or its code has changed.

python -P -m lochan.cli.companion.serve [IDLE_SECONDS]
"""

import fcntl
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from lochan import __version__
from lochan.cli.companion import place, wire

if TYPE_CHECKING:
    from lochan.cli.companion.reader import Reader

IDLE_S = 600.0
_LOOK_S = 15.0  # how often it checks that its code and its socket are still there
_CHILDREN_MAX = 32
_TRACE_BYTES_MAX = 1 << 20


class RunningCommand(NamedTuple):
    pid: int
    connection: socket.socket
    trace: int  # the reading end of a pipe, which is read when the command has ended


class Companion:
    def __init__(self, path: str, lock: int, idle_s: float, env: dict[bytes, bytes]) -> None:
        from lochan.cli.companion.code_files import CodeFiles
        from lochan.cli.companion.warmth import Warmth

        self._path = path
        self._lock = lock
        self._idle_s = idle_s
        self._env = env
        self._hello = place.hello()
        self._warmth = Warmth()
        self._code = CodeFiles()
        self._poll = select.poll()
        self._running: dict[int, RunningCommand] = {}  # by its pidfd
        self._reader: Reader | None = None  # if it runs no command, it is not among the running
        self._fronts: dict[int, int] = {}  # from the descriptor of a connection to its pidfd
        self._traces: list[bytes] = []  # of commands that have ended, followed when no front waits
        self._following: Iterator[None] | None = None
        self._asked = 0
        self._served = 0  # how many of those were run to their end
        self._ends = False
        self._inode = 0
        self._woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._stop)
        signal.set_wakeup_fd(self._woken[1])  # otherwise Python would keep waiting after a signal
        self._poll.register(self._woken[0], select.POLLIN)
        self._warmth.load()
        self._code.remember()
        self._note()
        self._listener = _listen(self._path)  # only now, so that no front waits while the companion loads
        self._inode = os.stat(self._path).st_ino  # noqa: PTH116
        self._poll.register(self._listener, select.POLLIN)
        last = time.monotonic()  # noqa: TID251 - measures how long no front has come; nothing in a lake depends on it
        while not self._ends:
            follows = bool(self._traces) or self._following is not None
            events = self._poll.poll(0 if follows else _LOOK_S * 1_000)
            if events:
                last = time.monotonic()  # noqa: TID251
            elif follows:
                self._follow()
                continue
            elif not self._running and time.monotonic() - last >= self._idle_s:  # noqa: TID251
                return
            if not events and not self._is_good():
                return
            for file, _ in events:
                self._handle(file)
            if any(file == self._listener.fileno() for file, _ in events):
                self._accept()  # last, because a new connection may get the number of one that has just been closed

    def _handle(self, file: int) -> None:
        if file in self._fronts:
            self._front_left(file)
        elif file in self._running:
            self._ended(file)
        elif self._reader is not None and file == self._reader.pidfd:
            self._end_reader()

    def _stop(self, *_: object) -> None:
        self._ends = True

    # --- commands ----------------------------------------------------------------------------------------------------
    def _accept(self) -> None:
        from lochan.cli.companion.child import has_limits_of
        from lochan.cli.companion.warmth import threads

        try:
            connection = self._listener.accept()[0]
        except OSError:
            return
        front, user = wire.peer(connection)
        if user != os.geteuid() or not self._is_good() or threads() != 1:
            connection.close()
            self._ends = self._ends or threads() != 1 or not self._is_good()
            return
        kind = wire.peek_kind(connection)
        if kind == b"":
            connection.close()
            return
        self._asked += 1
        self._note(beginning=1)
        reads = kind == wire.READS and has_limits_of(front)
        if reads and self._reader is not None and self._reader.pidfd not in self._running:
            if self._reader.give(connection):
                self._begun(RunningCommand(self._reader.pid, connection, self._reader.trace), self._reader.pidfd)
                return
            self._end_reader()
        self._fork(connection, stays=reads and self._reader is None)

    def _fork(self, connection: socket.socket, *, stays: bool) -> None:
        """Forks a process for the front. If it `stays`, it is the reader, and serves other fronts too."""
        from lochan.cli.companion.reader import Reader

        files: list[int] = []
        try:
            files += os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) if stays else (None, None)
            reads, writes = files
            with suppress(OSError):  # the user's pipes are already too large; a long trace is then lost
                fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, _TRACE_BYTES_MAX)
            pid = os.fork()
        except OSError:  # there are too many files or processes, so the front does the work itself
            for file in files:
                os.close(file)
            connection.close()
            self._note()
            return
        if not pid:
            if channel is not None:
                channel.close()
            self._serve(connection, writes, theirs)
        os.close(writes)
        pidfd = os.pidfd_open(pid)
        if channel is not None and theirs is not None:
            theirs.close()
            self._reader = Reader(channel, pid, pidfd, reads)
        self._poll.register(pidfd, select.POLLIN)
        self._begun(RunningCommand(pid, connection, reads), pidfd)

    def _begun(self, command: RunningCommand, pidfd: int) -> None:
        self._running[pidfd] = command
        self._fronts[command.connection.fileno()] = pidfd
        self._poll.register(command.connection.fileno(), select.POLLRDHUP)
        if len(self._running) >= _CHILDREN_MAX:
            self._poll.unregister(self._listener)

    def _serve(self, connection: socket.socket, writes: int, channel: socket.socket | None) -> NoReturn:
        """Serves a front in the new process, which keeps none of the companion's connections."""
        try:
            from lochan.cli.companion import child, reader

            signal.set_wakeup_fd(-1)
            for file in (self._listener.detach(), self._lock, *self._woken):
                os.close(file)
            if self._reader is not None:
                self._reader.close()
                if self._reader.pidfd not in self._running:
                    os.close(self._reader.pidfd)
                    os.close(self._reader.trace)
            for pidfd, other in self._running.items():
                os.close(pidfd)
                os.close(other.trace)
                other.connection.close()

            def report() -> None:
                with suppress(OSError):
                    os.write(writes, self._warmth.trace())

            if channel is None:
                child.serve(connection, self._hello, self._env, report)
            reader.serve(connection, channel, self._warmth, (self._hello, self._env, report))
        finally:
            os._exit(1)

    def _front_left(self, file: int) -> None:
        """Ends the child of a front that was killed, has its answer, or does the work itself. In none of these cases is
        the child still needed. The reader stays if it has run the command."""
        pidfd = self._fronts.pop(file)
        self._poll.unregister(file)
        if self._reader is not None and self._reader.pidfd == pidfd and self._reader.is_done():
            self._pop(pidfd).connection.close()
            self._served += 1
            self._reader.wake()
            self._note()
            if self._reader.is_outdated:
                self._end_reader()
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    def _pop(self, pidfd: int) -> RunningCommand:
        command = self._running.pop(pidfd)
        if len(self._running) == _CHILDREN_MAX - 1:
            self._poll.register(self._listener, select.POLLIN)
        return command

    def _ended(self, pidfd: int) -> None:
        from lochan.cli.companion.warmth import NO_NEWS

        command = self._pop(pidfd)
        _, status = os.waitpid(command.pid, 0)
        file = command.connection.fileno()
        if self._fronts.pop(file, None) is not None:
            self._poll.unregister(file)
            with suppress(OSError):  # its process has already answered, unless it could not
                if os.WIFSIGNALED(status):
                    wire.send_answer(command.connection, wire.KILLED, os.WTERMSIG(status))
                else:
                    wire.send_answer(command.connection, wire.EXIT, os.WEXITSTATUS(status))
        command.connection.close()
        with suppress(OSError):
            traced = os.read(command.trace, _TRACE_BYTES_MAX)
            if traced:  # otherwise the command was refused, or killed
                self._served += 1
            if traced and traced != NO_NEWS:
                self._traces.append(traced)
        self._forget(pidfd, command.trace)
        self._note()

    def _forget(self, pidfd: int, trace: int) -> None:
        """Closes what the companion holds of a process that has ended."""
        self._poll.unregister(pidfd)
        os.close(pidfd)
        os.close(trace)
        if self._reader is not None and self._reader.pidfd == pidfd:
            self._reader.close()
            self._reader = None

    def _end_reader(self) -> None:
        """Ends the reader. REQUIRES: it runs no command. The next command that only reads gets a new reader, which has
        everything that the companion has."""
        if self._reader is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._reader.pidfd, signal.SIGKILL)
            os.waitpid(self._reader.pid, 0)
            self._forget(self._reader.pidfd, self._reader.trace)

    # --- between them ------------------------------------------------------------------------------------------------
    def _follow(self) -> None:
        """Follows one step of what a command has used."""
        if self._following is None:
            self._following = self._warmth.follow(self._traces.pop(0))
        for _ in self._following:
            return
        self._following = None
        self._code.remember()
        if self._reader is not None:
            self._reader.is_outdated = True
            if self._reader.pidfd not in self._running:
                self._end_reader()
        self._note()

    def _is_good(self) -> bool:
        """Returns whether the code has not changed since it was imported, and the socket is the one that fronts
        find."""
        try:
            return self._code.are_unchanged() and os.stat(self._path).st_ino == self._inode  # noqa: PTH116
        except OSError:
            return False

    def _note(self, beginning: int = 0) -> None:
        """Writes the note for `lochan companion status`."""
        noted = {
            "pid": os.getpid(),
            "version": __version__,
            "package": place.package(),
            "asked": self._asked,
            "running": len(self._running) + beginning,
            "commands": self._served,
            "lakes": len(self._warmth.lakes),
        }
        with suppress(OSError):  # if the disk is full, the note is old, and all else works
            os.pwrite(self._lock, json.dumps(noted).ljust(1024).encode(), 0)

    def close(self) -> None:
        """Removes the socket, so that fronts no longer find it. Running commands continue, and answer by themselves."""
        with suppress(OSError):
            if os.stat(self._path).st_ino == self._inode:  # noqa: PTH116
                os.unlink(self._path)  # noqa: PTH108


def main() -> None:
    env = dict(os.environb)
    _detach()
    from lochan.cli.companion.quiet import QUIET

    os.environ.update(QUIET)
    folder = place.folder(create=True)
    if folder is None:
        return
    lock = _lock(f"{folder}/{place.name()}.lock")
    if lock is None:
        return  # another companion was quicker
    path = f"{folder}/{place.name()}.sock"
    idle_s = float(sys.argv[1]) if len(sys.argv) > 1 else IDLE_S
    from lochan.cli import process

    process.prepare()
    companion = Companion(path, lock, idle_s, env)
    try:
        companion.run()
    finally:
        companion.close()


def _detach() -> None:
    """Detaches the process: nothing waits for it, no terminal reaches it, and it holds no file or folder of the process
    that started it."""
    os.setsid() if os.getpid() != os.getsid(0) else None
    if os.fork():
        os._exit(0)
    os.chdir("/")
    os.umask(0o077)
    null = os.open(os.devnull, os.O_RDWR)
    for file in (0, 1, 2):
        os.dup2(null, file)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _lock(path: str) -> int | None:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return None
    os.ftruncate(file, 0)
    return file


def _listen(path: str) -> socket.socket:
    """Returns a listener. It gets its name when it listens, and replaces one that a killed companion left behind."""
    new = f"{path}.{os.getpid()}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(new)
    os.chmod(new, 0o600)  # noqa: PTH101
    listener.listen(_CHILDREN_MAX)
    os.rename(new, path)  # noqa: PTH104
    return listener


if __name__ == "__main__":
    main()
