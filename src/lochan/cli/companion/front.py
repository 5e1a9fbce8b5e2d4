"""Runs in front of a command: asks the companion to run it, passes signals on, and ends as the command ended.

If that is impossible (no companion, other code, another user, no answer in time), the caller runs the command itself.
That is safe until the child was told to go: before that it has done nothing, and does nothing if the connection
ends."""

import _signal  # type: ignore[import-not-found]  # `signal` without its enums
import _socket
import os
import sys

from lochan.cli.companion import place, wire
from lochan.cli.companion.identity import identity

TYPE_CHECKING = False  # `typing` takes longer to import than all of this
if TYPE_CHECKING:
    from typing import NoReturn

# Verbs that take so little time that starting matters. Long work gains nothing. Commands that ask on a terminal, or
# serve others, are best run in the process that the user sees.
LIGHT = frozenset(
    (
        "audit", "auth", "bisect", "blame", "branch", "cherry-pick", "commit", "create", "delete", "diff", "drop",
        "events", "explain", "fs", "jobs", "lifecycle", "load", "log", "ls", "merge", "merge-base", "policy", "pool",
        "query", "rebase", "rename", "repo", "reset", "revert", "show", "sql", "stash", "status", "tag", "usage",
        "use", "workspace",
    )
)  # fmt: skip
# The verbs of those that change nothing, or hardly ever. One process of the companion runs many of them, one by one.
READING = frozenset(
    (
        "branch list", "diff", "explain", "fs ls", "fs stat", "log", "ls", "merge-base", "query", "repo list",
        "repo show", "show", "sql", "status", "tag list",
    )
)  # fmt: skip
NO_COMPANION = "--no-companion"
_WITH_VALUE = ("--lake", "--profile", "--config", "--set", "-s")
_OWN_FILES = ("/dev/fd/", "/dev/tty", "/proc/self/", "/proc/thread-self/")
_PATIENCE_S = 1.0  # how long the companion may take to be ready; it needs some milliseconds
_UNKNOWN = 9  # exit_codes.RETRY
_STOP, _CONTINUE = _signal.SIGSTOP, _signal.SIGCONT
_FORWARDED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGWINCH)
_HELD = (*_FORWARDED, _signal.SIGTSTP)


def verb_of(words: list[str]) -> str | None:
    """Returns the verb, which follows global options, or None if there is none, or if no companion is wanted."""
    verb, skip = None, False
    for word in words:
        if word == "--":
            break
        if word == NO_COMPANION:
            return None
        if skip:
            skip = False
        elif verb is None:
            if not word.startswith("-"):
                verb = word
            skip = word in _WITH_VALUE
    return verb


def only_reads(words: list[str]) -> bool:
    verb = verb_of(words)
    if verb is None:
        return False
    at = words.index(verb)
    return verb in READING or " ".join(words[at : at + 2]) in READING


def names_own_files() -> bool:
    """Returns whether the command names a file that means another one, or none, in another process, such as /dev/fd/63,
    which a shell makes of `<(zcat rows.gz)`."""
    given = *sys.argv[1:], *(value for name, value in os.environ.items() if name.startswith("LOCHAN_"))
    return any(own in text for text in given for own in _OWN_FILES)


def is_wanted() -> bool:
    """Returns whether a companion would help this command, and is not switched off."""
    if sys.platform != "linux" or os.environ.get("LOCHAN_COMPANION", "").lower() in ("0", "no", "off", "false"):
        return False
    return "_LOCHAN_COMPLETE" not in os.environ and verb_of(sys.argv[1:]) in LIGHT


def ask() -> None:
    """Lets the companion run the command, and ends this process as the command did. Returns if the caller has to do the
    work itself."""
    path = place.socket_path()
    if path is None or names_own_files() or _reads_in_background():
        return
    streams = [file for file in (0, 1, 2) if _is_open(file)]  # before a socket takes the number of a closed one
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    blocked = _signal.pthread_sigmask(_signal.SIG_BLOCK, _HELD)
    try:
        pidfd = _begin(connection, path, streams, [int(each) for each in blocked])
        if pidfd is not None:
            _forward(pidfd)
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, blocked)
    if pidfd is not None:
        _wait(connection)
    connection.close()


def _begin(connection: _socket.socket, path: str, streams: list[int], blocked: list[int]) -> int | None:
    """Returns a descriptor of the process that has begun to run the command, or None if none has."""
    folder = -1
    try:
        connection.settimeout(_PATIENCE_S)
        connection.connect(path)
        if wire.peer(connection)[1] != os.geteuid():
            return None
        wire.send_hello(connection, wire.READS if only_reads(sys.argv[1:]) else wire.ANY, place.hello())
        if wire.receive_answer(connection)[0] != wire.HELLO:
            return None
        folder = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        wire.send_request(connection, _request(streams, blocked), [*streams, folder])
        letter, _, received = wire.receive_answer(connection)
        if letter != wire.READY or len(received) != 1:
            return None
        connection.settimeout(None)
        connection.send(wire.GO)
        return received[0]
    except (OSError, EOFError, ValueError):
        return None
    finally:
        if folder >= 0:
            os.close(folder)


def _wait(connection: _socket.socket) -> None:
    """Ends this process as the command ended. Returns only if the command was not run."""
    try:
        letter, number, _ = wire.receive_answer(connection)
    except (OSError, EOFError):
        print(
            "lochan: the companion was ended in the middle of the command\n"
            f"  a change may have been made; look before you repeat it, and add {NO_COMPANION} to do without one",
            file=sys.stderr,
            flush=True,
        )
        os._exit(_UNKNOWN)
    if letter == wire.REFUSED:  # it had stopped waiting when it was told to go
        return
    if letter == wire.KILLED:
        _die(number)
    os._exit(number)  # this process has written nothing, and has nothing to clean up


def _die(number: int) -> "NoReturn":
    """Ends this process by the same signal, so that the shell reports the same."""
    if number not in (_signal.SIGKILL, _STOP):
        _signal.signal(number, _signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _forward(pidfd: int) -> None:
    """Forwards signals to the process that does the work. Its end also decides the end of this one."""

    def forward(number: int, _: object) -> None:
        _send(pidfd, number)

    def stop(number: int, _: object) -> None:
        """Stops on Ctrl-Z. The other process has no terminal, and would not be stopped by that signal."""
        _send(pidfd, _STOP)
        os.kill(os.getpid(), _STOP)
        _send(pidfd, _CONTINUE)

    for number in _FORWARDED:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, forward)
    if _signal.getsignal(_signal.SIGTSTP) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGTSTP, stop)


def _send(pidfd: int, number: int) -> None:
    try:
        _signal.pidfd_send_signal(pidfd, number)
    except OSError:
        return  # it has ended


def _request(files: list[int], blocked: list[int]) -> wire.CommandRequest:
    umask = os.umask(0o077)
    os.umask(umask)
    streams = [
        None if each is None else (each.encoding, each.errors or "strict")
        for each in (sys.stdin, sys.stdout, sys.stderr)
    ]
    ignored = [
        number
        for number in range(1, _signal.NSIG)
        if number != _signal.SIGPIPE and _signal.getsignal(number) == _signal.SIG_IGN
    ]
    return wire.CommandRequest(
        sys.argv, dict(os.environb), umask, files, streams, ignored, blocked, identity(os.environb)
    )


def _is_open(file: int) -> bool:
    try:
        os.fstat(file)
    except OSError:
        return False
    return True


def _reads_in_background() -> bool:
    """Returns whether a command in the background reads the terminal. The terminal stops it, but would not stop another
    process."""
    try:
        return os.isatty(0) and os.tcgetpgrp(0) != os.getpgrp()
    except OSError:
        return False
