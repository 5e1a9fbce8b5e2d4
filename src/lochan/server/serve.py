"""Runs `lochan serve`: starts, watches and stops a process for each listener. In each of them Granian answers, with the
gateway or the API in its worker processes."""

import multiprocessing
import os
import signal
import socket
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from types import FrameType
from typing import Any, Final

from lochan.errors import Refused, Transient
from lochan.server.metrics import use_folder
from lochan.server.settings import Listener

STOP_S = 25  # how long a worker may take to finish its requests when it has to stop
_BUFFER_BYTES = 512 << 10  # how much of a body is read at once; also the largest head, and Granian answers 431 to more
_H2_HEAD_BYTES = 64 << 10  # the default is 16 MB
_H2_STREAMS = 100
_FILES_BESIDE = 512  # files that a process has open besides its connections
_NO_LOG_OF_ITS_OWN: Final = {"loggers": {"_granian": {"handlers": [], "propagate": True}}}
_POLL_S = 0.2


def serve(listeners: Sequence[Listener], ready: Callable[[], None]) -> None:
    """Serves until SIGTERM or SIGINT. Then every listener finishes its answers, and takes no more requests. `ready` is
    called when all of them accept connections. Raises Refused for an address that is in use, and Transient if a
    listener dies."""
    for each in listeners:
        _check_free(each)
    with TemporaryDirectory(prefix="lochan-metrics-") as folder:
        use_folder(Path(folder))
        _share_memory()
        _serve(listeners, ready)


def _share_memory() -> None:
    """Sets how the started processes keep memory. The C library keeps free memory apart for every thread, up to eight
    times the processors: ten downloads at once left a third more behind there than was ever in use."""
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")


def _serve(listeners: Sequence[Listener], ready: Callable[[], None]) -> None:
    stop = _Stop()
    spawn = multiprocessing.get_context("spawn")  # a fork would copy threads that no longer run
    processes = [spawn.Process(target=listen, args=(each,), name=each.name) for each in listeners]
    for process in processes:
        process.start()
    try:
        waiting = list(listeners)
        while not stop.requested:
            dead = [process.name for process in processes if not process.is_alive()]
            if dead:
                raise Transient(f"the listener {dead[0]} stopped by itself", hint="the log says why")
            waiting, was = [each for each in waiting if not _accepts(each)], waiting
            if was and not waiting:
                ready()
            sleep(_POLL_S)
    finally:
        _end_processes(processes)


class _Stop:
    def __init__(self) -> None:
        self.requested = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._request)

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = True


def _end_processes(processes: Sequence[SpawnProcess]) -> None:
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


def listen(listener: Listener) -> None:
    """Runs a listener until it has to stop. It is the first function that a new process calls."""
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces, Loops, SSLProtocols
    from granian.http import HTTP1Settings, HTTP2Settings
    from granian.log import LogLevels

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the supervisor stops us
    s3 = listener.name != "api"
    # The time for the head of a request, and how long a connection is kept for the next one.
    head_s = min(listener.limits.authentication_s, listener.s3.idle_s)
    server = Granian(
        "lochan",
        address=listener.host,
        port=listener.port,
        interface=Interfaces.RSGI if s3 else Interfaces.ASGI,
        workers=listener.workers,
        loop=Loops.uvloop,
        http=HTTPModes.http1 if s3 else HTTPModes.auto,
        websockets=False,
        backlog=4096,
        backpressure=_room_for(listener.limits.connections),  # `connections.py` decides who may stay
        http1_settings=HTTP1Settings(header_read_timeout=round(head_s * 1_000), max_buffer_size=_BUFFER_BYTES),
        http2_settings=HTTP2Settings(max_headers_size=_H2_HEAD_BYTES, max_concurrent_streams=_H2_STREAMS),
        log_level=LogLevels.warning,
        log_dictconfig=_NO_LOG_OF_ITS_OWN,
        ssl_cert=listener.tls.certificate if listener.tls else None,
        ssl_key=listener.tls.key if listener.tls else None,
        ssl_protocol_min=SSLProtocols.tls12,
        respawn_failed_workers=True,
        workers_kill_timeout=STOP_S,
    )
    listener.set_up_logging()  # after Granian's own, which closes the handlers; so in each worker too
    server.serve(target_loader=partial(_load_app, listener), wrap_loader=False)


def _room_for(connections: int) -> int:
    """Returns how many connections are possible: this many, or as many as the system lets a process have open files."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + _FILES_BESIDE
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    allowed = needed if soft == resource.RLIM_INFINITY else soft
    return max(1, min(connections, allowed - min(_FILES_BESIDE, allowed // 2)))


def _load_app(listener: Listener) -> Any:
    """Returns the application, in the worker process. Nothing that has threads was imported before the process was
    made."""
    listener.set_up_logging()
    if listener.name == "api":
        from lochan.server.shared_port import shared_port

        return shared_port(listener)
    from lochan.server.gateway.app import gateway_app

    return gateway_app(listener)
