"""Runs many commands which only read, one after the other, in one process of the companion.

A fork costs a command more than its own work: the tables of pages, a copy of each page in which Python counts
references, and the end of the process. After a command that only reads, this process also runs the next one, if the
last one has left nothing behind: it succeeded, read nothing that the companion does not have, and imported nothing; its
process had the usual streams, signals and limits; and there is no other thread and no other open file. Otherwise it
ends as a child does, and the companion forks another one for the next such command.

    companion ──(connection of a front)──> reader ──"done"──> companion, which waits until the front is gone

Until the front is gone, it may send signals, and this process runs nothing else.
"""

import _socket
import gc
import os
import resource
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from lochan.api.rehearsal import rehearse_again
from lochan.cli import process
from lochan.cli.companion import child, wire
from lochan.cli.companion.memory import resident_bytes
from lochan.cli.companion.warmth import NO_NEWS, Warmth, threads

DONE = b"D"
_COMMANDS_MAX = 1_000
_GROWTH_BYTES_MAX = 64 << 20
_STREAMS = [0, 1, 2]
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class Reader:
    """The companion's end of the channel to a reader."""

    def __init__(self, channel: socket.socket, pid: int, pidfd: int, trace: int) -> None:
        self._channel = channel
        self.pid = pid
        self.pidfd = pidfd
        self.trace = trace
        self.is_outdated = False  # whether the companion has more than this process by now

    def give(self, connection: socket.socket) -> bool:
        """Gives the next front to the reader. Returns False if the reader has ended."""
        try:
            socket.send_fds(self._channel, [b"F"], [connection.fileno()])
        except OSError:
            return False
        return True

    def is_done(self) -> bool:
        """Returns whether the reader has run the command of the last front, and stays."""
        try:
            return self._channel.recv(1, socket.MSG_DONTWAIT) == DONE
        except OSError:
            return False

    def wake(self) -> None:
        """Lets the reader continue, if its last front had stopped it and was then killed."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGCONT)

    def close(self) -> None:
        """Closes this end. A process that waits for the next front ends."""
        self._channel.close()


def serve(
    connection: _socket.socket,
    channel: socket.socket,
    warmth: Warmth,
    serving: tuple[bytes, dict[bytes, bytes], Callable[[], None]],
) -> NoReturn:
    """Serves this front, and others that the companion sends. `serving` contains what `child.serve` takes."""
    hello, env, report = serving
    memory_bytes, state = resident_bytes(), ProcessState()
    for _ in range(_COMMANDS_MAX):
        files = _open_files()  # includes the one of this connection, as it does at the end
        request = child.begin(connection, hello, env)
        code = child.run(request)
        if code or not _is_usual(request) or not process.is_written() or warmth.trace() != NO_NEWS:
            child.end(connection, code, report)
        _release()
        state.restore()
        if threads() != 1 or _open_files() != files or resident_bytes() > memory_bytes + _GROWTH_BYTES_MAX:
            child.end(connection, code, report)
        warmth.lakes.give_back()
        with suppress(OSError):  # the companion was killed, so this is the last command
            channel.send(DONE)
        with suppress(OSError):  # the front was killed
            wire.send_answer(connection, wire.EXIT, code)
        connection.close()
        rehearse_again()
        gc.collect()
        connection = _next(channel)
    os._exit(0)


class ProcessState:
    """Restores what a command changes in its process besides what it takes over from its front: it hides pandas, unless
    it runs Spark, and Python looks for the folder of temporary files only once."""

    def __init__(self) -> None:
        self._meta_path = [*sys.meta_path]
        self._temporary = tempfile.tempdir

    def restore(self) -> None:
        sys.meta_path[:] = self._meta_path
        tempfile.tempdir = self._temporary


def _is_usual(request: wire.CommandRequest) -> bool:
    """Returns whether nothing in this process has to be put back for the next command, except for what each command
    takes over."""
    ignored = set(request.ignored) - set(_IGNORED_BY_PYTHON)
    logging = sys.modules.get("logging")
    return (
        request.open_files == _STREAMS
        and None not in request.encodings
        and not request.blocked
        and not ignored
        and resource.getrlimit(resource.RLIMIT_CPU)[0] == resource.RLIM_INFINITY  # such a limit is for one command
        and (logging is None or not logging.getLogger("lochan").handlers)
    )


def _release() -> None:
    """Releases what belongs to the front, so that a reader of a pipe sees its end, and a file system can be
    unmounted."""
    null = os.open(os.devnull, os.O_RDWR)
    for file in _STREAMS:
        os.dup2(null, file)
    os.close(null)
    os.chdir("/")


def _open_files() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - pathlib takes longer


def _next(channel: socket.socket) -> _socket.socket:
    """Waits for the next front. Ends this process if the companion has ended."""
    word, files, _, _ = socket.recv_fds(channel, 1, 1)
    if not word or len(files) != 1:
        os._exit(0)
    os.set_inheritable(files[0], False)
    return socket.socket(fileno=files[0])
