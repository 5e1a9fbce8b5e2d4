"""A decoder as its caller sees it: started for one job, and dead once it is closed.

    with fork_server(MODULE).start() as decoder:
        decoder.send(REQUEST, …)
        message = decoder.receive(…)

Each process has one fork server for each module. It starts with the first decoder, or earlier by `warm`. Its imports
take about a second; forking a decoder takes some milliseconds.
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

from lochan.errors import Transient
from lochan.ingest.channel import Channel, Closed, Message, TooLong
from lochan.ingest.fork_server import STATUS

# The environment of this process is not passed on: no store's key, no secret. The settings keep Arrow and numpy from
# starting threads, which do not survive a fork.
_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # returns freed memory, so that only memory in use counts against the limit
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "LC_ALL": "C.UTF-8",
    "MALLOC_ARENA_MAX": "4",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "2",
    "TZ": "UTC",
}


class DecoderDied(Exception):
    """The decoder ended without a message. `signal` is the signal that ended it, or 0 if none did."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal

    @property
    def crashed(self) -> bool:
        """Whether it crashed, as code does that trusts a damaged file."""
        return self.signal in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, 0)

    @property
    def name(self) -> str:
        return signal.Signals(self.signal).name if self.signal else "an early exit"


class DecoderKilled(Exception):
    """`kill` was called."""


class Decoder:
    """A decoder. One thread may use it; `kill` may be called from any thread."""

    def __init__(self, channel: socket.socket, status: socket.socket) -> None:
        self._channel = Channel(channel)
        self._status = status
        self._killed = False
        self._closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, kind: bytes, data: bytes = b"", file: int | None = None) -> None:
        """Sends a message. Never fails: a decoder that has died may have sent its reason before, which `receive`
        returns."""
        with suppress(Closed):
            self._channel.send(kind, data, None if file is None else [file])

    def receive(self, bytes_max: int) -> Message:
        """Receives a message. Raises DecoderDied, DecoderKilled or TooLong. After TooLong nothing more can be
        received."""
        try:
            return self._channel.receive(bytes_max)
        except Closed:
            raise self._end() from None
        except TooLong:
            self.kill()
            raise

    def kill(self) -> None:
        """Kills the decoder. May be called from any thread. `receive` then raises DecoderKilled."""
        with self._lock:
            if self._closed:
                return
            self._killed = True
            with suppress(OSError):
                self._status.shutdown(socket.SHUT_WR)
            with suppress(OSError):
                self._channel.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends the decoder, and returns when it is dead. Calling it again does nothing."""
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
        """Waits until the decoder is dead, and returns its exit status. Returns None if the fork server ended first,
        and all its decoders with it."""
        data = b""
        with suppress(OSError):
            while len(data) < STATUS.size and (piece := self._status.recv(STATUS.size - len(data))):
                data += piece
        return STATUS.unpack(data)[0] if len(data) == STATUS.size else None


class ForkServer:
    """A fork server, for use by any thread."""

    def __init__(self, module: str) -> None:
        self._owner = os.getpid()
        self._module = module
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Decoder:
        """Starts a decoder. Raises Transient."""
        for _ in range(2):
            channel, its_channel = socket.socketpair()
            status, its_status = socket.socketpair()
            with its_channel, its_status, self._lock:
                control = self._started()
                try:
                    socket.send_fds(control, [b"\0"], [its_channel.fileno(), its_status.fileno()])
                    return Decoder(channel, status)
                except OSError:  # it was killed: start another one
                    channel.close()
                    status.close()
                    self._stop()
        raise Transient("the process that reads files does not start", hint="try again")

    def warm(self) -> None:
        """Starts the fork server, if it does not run yet. Raises Transient."""
        with self._lock:
            self._started()

    def close(self) -> None:
        """Ends the fork server, and all decoders that still run. Calling it again does nothing."""
        if os.getpid() == self._owner:  # not in a forked copy
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
        # -P: nothing may be imported from the folder that this process was started in.
        words = [sys.executable, "-P", "-m", "lochan.ingest.fork_server", str(control), self._module]
        return subprocess.Popen(
            words,
            pass_fds=[control],
            env=_ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C is for the caller, who then ends it
        )

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            if sys.platform == "linux":  # decoders end with it; elsewhere it ends them itself when its caller is gone
                self._process.kill()
            self._process.wait()
        self._control = self._process = None


_servers: dict[tuple[int, str], ForkServer] = {}
_servers_lock = threading.Lock()


def fork_server(module: str) -> ForkServer:
    """Returns the fork server of this process. A forked process does not use its parent's."""
    key = os.getpid(), module
    with _servers_lock:
        if key not in _servers:
            _servers[key] = ForkServer(module)
            atexit.register(_servers[key].close)
        return _servers[key]
