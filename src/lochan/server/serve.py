"""`lochan serve`: a process for each listener, started, watched and stopped together."""

import multiprocessing
import os
import signal
import socket
from collections.abc import Callable, Sequence
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from types import FrameType

from lochan.errors import Refused, Transient
from lochan.server.listen import STOP_S, listen
from lochan.server.metrics import use_folder
from lochan.server.settings import Listener

_POLL_S = 0.2


def serve(listeners: Sequence[Listener], ready: Callable[[], None]) -> None:
    """Until SIGTERM or SIGINT: then every listener finishes what it is answering, and takes no more. `ready` is called
    when all of them accept connections. Raises Refused for an address that is taken, Transient if a listener dies."""
    for each in listeners:
        _check_free(each)
    with TemporaryDirectory(prefix="lochan-metrics-") as folder:
        use_folder(Path(folder))
        _share_memory()
        _serve(listeners, ready)


def _share_memory() -> None:
    """For the processes that are started. The C library keeps free memory apart for every thread, up to eight times the
    processors: ten downloads at once left a third more behind in there than was ever in use."""
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")


def _serve(listeners: Sequence[Listener], ready: Callable[[], None]) -> None:
    stop = _Stop()
    spawn = multiprocessing.get_context("spawn")  # a fork would take along threads that are not there any more
    processes = [spawn.Process(target=listen, args=(each,), name=each.name) for each in listeners]
    for process in processes:
        process.start()
    try:
        waiting = list(listeners)
        while not stop.asked:
            dead = [process.name for process in processes if not process.is_alive()]
            if dead:
                raise Transient(f"the listener {dead[0]} stopped by itself", hint="the log says why")
            waiting, was = [each for each in waiting if not _accepts(each)], waiting
            if was and not waiting:
                ready()
            sleep(_POLL_S)
    finally:
        _end(processes)


class _Stop:
    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


def _end(processes: Sequence[SpawnProcess]) -> None:
    for process in processes:
        if process.is_alive():
            process.terminate()
    for process in processes:
        process.join(STOP_S + 5)
        if process.is_alive():
            process.kill()


def _check_free(listener: Listener) -> None:
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((listener.host, listener.port))
        except OSError as error:
            where = f"{listener.host}:{listener.port}"
            raise Refused(
                f"the {listener.name} listener cannot use {where}: {error.strerror}",
                hint="stop the program that listens there, or choose another address",
            ) from error


def _accepts(listener: Listener) -> bool:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listener.host, listener.host)
    try:
        socket.create_connection((host, listener.port), timeout=1).close()
    except OSError:
        return False
    return True
