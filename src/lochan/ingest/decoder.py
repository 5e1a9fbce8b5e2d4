"""A decoder from the outside: it is started for one job, talked to, and dead when it is closed.

    with fork_server(MODULE).start() as decoder:
        decoder.send(REQUEST, …)
        message = decoder.receive(…)

The fork server is started with the first decoder, or ahead by `warm`, one for each process and module. It takes about a
second until it has imported what it needs; to fork a decoder takes some milliseconds.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from types import TracebackType

from lochan.errors import Transient
from lochan.ingest.channel import Channel, Closed, Message, TooLong
from lochan.ingest.fork_server import STATUS

# Nothing of ours: no key of a store, no secret. Arrow's and numpy's threads would be forked without what they hold.
_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # what is freed is given back, and a limit is reached only by what is held
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "LC_ALL": "C.UTF-8",
    "MALLOC_ARENA_MAX": "4",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "2",
    "TZ": "UTC",
}


class DecoderDied(Exception):
    """Without a word of why. `signal` is what ended it, 0 where none did."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal

    @property
    def crashed(self) -> bool:
        """By its own fault, as code does that believes a damaged file."""
        return self.signal in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, 0)

    @property
    def name(self) -> str:
        return signal.Signals(self.signal).name if self.signal else "an early exit"


class DecoderKilled(Exception):
    """`kill` was called."""


class Decoder:
    """For one thread, but for `kill`."""

    def __init__(self, channel: socket.socket, status: socket.socket) -> None:
        self._channel = Channel(channel)
        self._status = status
        self._killed = False
        self._closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def send(self, kind: bytes, data: bytes = b"", file: int | None = None) -> None:
        """Raises DecoderDied, DecoderKilled. One that has died may have said why before: what it said is kept."""
        with suppress(Closed):
            self._channel.send(kind, data, None if file is None else [file])

    def receive(self, bytes_max: int) -> Message:
        """Raises DecoderDied, DecoderKilled, and TooLong, after which nothing more can be received."""
        try:
            return self._channel.receive(bytes_max)
        except Closed:
            raise self._end() from None
        except TooLong:
            self.kill()
            raise

    def kill(self) -> None:
        """From any thread; who receives is told."""
        with self._lock:
            if self._closed:
                return
            self._killed = True
            with suppress(OSError):
                self._status.shutdown(socket.SHUT_WR)
            with suppress(OSError):
                self._channel.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Returns when it is dead. May be called twice."""
        if self._closed:
            return
        with suppress(OSError):
            self._status.shutdown(socket.SHUT_WR)
        self._wait()
        with self._lock:
            self._closed = True
            self._channel.close()
            self._status.close()

    def _end(self) -> Exception:
        killed = self._killed
        status = self._wait()
        if killed or self._killed:
            return DecoderKilled()
        if status is None:
            return Transient("the process that reads files has ended", hint="try again")
        return DecoderDied(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)

    def _wait(self) -> int | None:
        """Until it is dead. None: the fork server has ended before it, and what it forked with it."""
        data = b""
        with suppress(OSError):
            while len(data) < STATUS.size and (piece := self._status.recv(STATUS.size - len(data))):
                data += piece
        return STATUS.unpack(data)[0] if len(data) == STATUS.size else None


class ForkServer:
    """For any thread."""

    def __init__(self, module: str) -> None:
        self._owner = os.getpid()
        self._module = module
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Decoder:
        """Raises Transient."""
        for _ in range(2):
            channel, its_channel = socket.socketpair()
            status, its_status = socket.socketpair()
            with its_channel, its_status, self._lock:
                control = self._started()
                try:
                    socket.send_fds(control, [b"\0"], [its_channel.fileno(), its_status.fileno()])
                    return Decoder(channel, status)
                except OSError:  # it was killed: another one does it
                    channel.close()
                    status.close()
                    self._stop()
        raise Transient("the process that reads files does not start", hint="try again")

    def warm(self) -> None:
        """Raises Transient."""
        with self._lock:
            self._started()

    def close(self) -> None:
        """Decoders that still run end by it. May be called twice."""
        if os.getpid() == self._owner:  # and no copy of it that was forked
            with self._lock:
                self._stop()

    def _started(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self._stop()
        ours, its = socket.socketpair()
        with its:
            try:
                self._process = self._spawned(its.fileno())
            except OSError as error:
                ours.close()
                raise Transient(f"the process that reads files does not start: {error}", hint="try again") from error
        self._control = ours
        return ours

    def _spawned(self, control: int) -> subprocess.Popen[bytes]:
        # -P: what lies in the folder that this process was started in is not ours to import.
        words = [sys.executable, "-P", "-m", "lochan.ingest.fork_server", str(control), self._module]
        return subprocess.Popen(
            words,
            pass_fds=[control],
            env=_ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C is for who asks, who then ends it
        )

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            if sys.platform == "linux":  # where decoders end with it; elsewhere it ends them when it finds itself alone
                self._process.kill()
            self._process.wait()
        self._control = self._process = None


_servers: dict[tuple[int, str], ForkServer] = {}
_servers_lock = threading.Lock()


def fork_server(module: str) -> ForkServer:
    """Of this process: one that was forked has none of its parent's."""
    key = os.getpid(), module
    with _servers_lock:
        if key not in _servers:
            _servers[key] = ForkServer(module)
            atexit.register(_servers[key].close)
        return _servers[key]
