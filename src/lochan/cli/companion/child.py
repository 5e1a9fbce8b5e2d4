"""Runs a command in a process that the companion has forked. As far as the command can see, it becomes the process that
the user started. It then runs the command, and answers how that ended. `reader.py` is a process that does this more
than once."""

import _socket
import io
import locale
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import NoReturn, TextIO

from lochan.cli import process
from lochan.cli.companion import wire
from lochan.cli.companion.identity import identity
from lochan.cli.companion.wire import CommandRequest

_PATIENCE_S = 5.0  # how long a front may take to send its request, and "go"
_INTERRUPTED = 130
_BUG = 1  # Python's own exit code behind a traceback
_LIMITS = {getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}


class Unfit(Exception):
    """This process cannot run what the front requests."""


def serve(connection: _socket.socket, hello: bytes, env: dict[bytes, bytes], report: Callable[[], None]) -> NoReturn:
    """Serves a front in this child. `env` is the environment that the companion was started with. `report` tells the
    companion what the command has used, before the command's end is answered."""
    request = begin(connection, hello, env)
    end(connection, run(request), report)


def begin(connection: _socket.socket, hello: bytes, env: dict[bytes, bytes]) -> CommandRequest:
    """Returns what the front requests, once it has sent "go". Otherwise, ends this process."""
    try:
        connection.settimeout(_PATIENCE_S)
        if not wire.receive_hello(connection, hello):
            raise Unfit
        wire.send_answer(connection, wire.HELLO)
        request, files = wire.receive_request(connection)
        if request.identity != identity(env):
            raise Unfit
        become(request, files, wire.peer(connection)[0])
        pidfd = os.pidfd_open(os.getpid())
        wire.send_answer(connection, wire.READY, files=[pidfd])
        os.close(pidfd)
        if connection.recv(1) != wire.GO:
            raise Unfit
        connection.settimeout(None)
    except (Unfit, OSError, EOFError, ValueError):
        _refuse(connection)
    return request


def end(connection: _socket.socket, code: int, report: Callable[[], None]) -> NoReturn:
    def answer(code: int) -> None:
        report()
        wire.send_answer(connection, wire.EXIT, code)

    process.leave_at_once(code, answer)


def run(request: CommandRequest) -> int:
    """Runs the command. Returns its exit code."""
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, request.blocked)
        process.command()
    except SystemExit as end:
        code = end.code
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
            code = _BUG
    except KeyboardInterrupt:  # before the command could handle it itself
        code = _INTERRUPTED
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = _BUG
    process.clean()
    return (code or 0) & 0xFF


def _refuse(connection: _socket.socket) -> NoReturn:
    """Sends the refusal, before the companion reports the end of this process: a front that was stopped for a while may
    send "go" just then, and would mistake that report for the end of its command."""
    with suppress(OSError):
        wire.send_answer(connection, wire.REFUSED)
    os._exit(0)


def become(request: CommandRequest, files: list[int], front: int) -> None:
    """Takes over what the command can see of the front's process. Raises Unfit if some of it cannot be taken over.
    The command has then done nothing yet."""
    *streams, folder = files
    if len(streams) != len(request.open_files):
        raise Unfit
    _take_limits(front)
    os.umask(request.umask)
    _take_environment(request.env)
    time.tzset()
    try:
        locale.setlocale(locale.LC_CTYPE, "")  # as Python does when it starts
    except locale.Error:
        locale.setlocale(locale.LC_CTYPE, "C")
    os.fchdir(folder)
    os.close(folder)
    for file in (0, 1, 2):
        if file not in request.open_files:
            os.close(file)
    for file, given in zip(request.open_files, streams, strict=True):
        os.dup2(given, file)
        os.close(given)
    sys.argv = request.argv
    for name, file, encoding in zip(("stdin", "stdout", "stderr"), (0, 1, 2), request.encodings, strict=True):
        stream = _stream(file, encoding)  # None, as in Python itself, if it is closed
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    _take_signals(request)


def _take_environment(env: dict[bytes, bytes]) -> None:
    """Takes over the environment. It changes only variables that differ, because most of them are those that the
    companion itself was started with."""
    for name in os.environb.keys() - env.keys():
        del os.environb[name]
    for name, value in env.items():
        if os.environb.get(name) != value:
            os.environb[name] = value


def _take_limits(front: int) -> None:
    try:
        for take in _differing_limits(front):
            take()
    except (OSError, ValueError) as error:
        raise Unfit from error


def has_limits_of(front: int) -> bool:
    """Returns whether this process has the same limits as the front."""
    try:
        return not any(True for _ in _differing_limits(front))
    except (OSError, ValueError):
        return False


def _differing_limits(front: int) -> Iterator[Callable[[], object]]:
    """Yields what takes over a limit of `ulimit`, `nice`, `chrt` or `taskset`, for each that differs."""
    for limit in _LIMITS:
        theirs = resource.prlimit(front, limit)
        if theirs != resource.getrlimit(limit):
            yield partial(resource.setrlimit, limit, theirs)
    nice = os.getpriority(os.PRIO_PROCESS, front)
    if nice != os.getpriority(os.PRIO_PROCESS, 0):
        yield partial(os.setpriority, os.PRIO_PROCESS, 0, nice)
    policy = os.sched_getscheduler(front)
    if policy != os.sched_getscheduler(0):
        yield partial(os.sched_setscheduler, 0, policy, os.sched_getparam(front))
    processors = os.sched_getaffinity(front)
    if processors != os.sched_getaffinity(0):
        yield partial(os.sched_setaffinity, 0, processors)


def _stream(file: int, encoding: tuple[str, str] | None) -> TextIO | None:
    if encoding is None:
        return None
    raw = io.FileIO(file, "rb" if file == 0 else "wb", closefd=False)
    buffer = io.BufferedReader(raw) if file == 0 else io.BufferedWriter(raw)
    lines = file == 2 or raw.isatty()
    names = ("<stdin>", "<stdout>", "<stderr>")
    raw.name = names[file]
    return io.TextIOWrapper(buffer, encoding[0], encoding[1], line_buffering=lines)


def _take_signals(request: CommandRequest) -> None:
    """Sets up signals like the front's. They are blocked until the command begins."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for changed in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(changed, signal.SIG_DFL)
    for number in request.ignored:
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_IGN)
