"""Starts a companion after the first light command on a terminal, or as the setting `companion` demands."""

import _socket
import os
import sys

from lochan.cli.companion import place

MODULE = "lochan.cli.companion.serve"


def start_if_due() -> None:
    """Starts a companion at the end of a command that would have been faster with one. It never fails, and does not
    wait."""
    try:
        if not is_listening() and _is_due():
            start()
    except Exception:  # a command that has done its work must not fail because of help for the next one
        return


def is_listening() -> bool:
    """Returns whether a companion listens. One that was killed leaves its socket behind."""
    path = place.socket_path()
    if path is None:
        return False
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(0)
        connection.connect(path)
    except BlockingIOError:
        return True  # it is busy
    except OSError:
        return False
    finally:
        connection.close()
    return True


def start(*words: str) -> int:
    """Starts a companion. Returns the id of a process that ends at once; the companion is a child of its child."""
    command = [sys.executable, "-P", "-m", MODULE, *words]
    null = [(os.POSIX_SPAWN_OPEN, file, os.devnull, os.O_RDWR, 0) for file in (0, 1, 2)]
    return os.posix_spawn(sys.executable, command, os.environ, file_actions=null, setsid=True)


def _is_due() -> bool:
    from lochan.connection import configuration

    setting = configuration().settings.companion
    return _is_typed() if setting is None else setting


def _is_typed() -> bool:
    """Returns whether a person typed this command. An interactive shell puts each command into a process group of its
    own, in the foreground of the terminal, while a script's commands are in the group of the script."""
    for file in (0, 1, 2):
        try:
            if os.isatty(file):
                return os.getpgrp() == os.getpid() == os.tcgetpgrp(file)
        except OSError:
            continue
    return False
