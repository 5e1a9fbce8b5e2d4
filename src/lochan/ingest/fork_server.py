"""The process that decoders are forked from: `python -m lochan.ingest.fork_server FD MODULE`.

It imports MODULE, calls its function `prepare` once, and its function `run` in each decoder. It has one thread, because
forking a process with several would leave locks in the decoder that nothing ever opens. It never sees a user's file, so
a decoder starts without a trace of an earlier one.

Pairs of sockets arrive on FD. The first is the decoder's channel. The exit status is written to the second when the
decoder has ended. The decoder is killed when the other side closes its half. All decoders end when FD is closed."""

from __future__ import annotations

import ctypes
import gc
import importlib
import importlib.abc
import os
import selectors
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from lochan.ingest.channel import Channel
from lochan.without_pandas import hide_pandas

STATUS: Final = struct.Struct("<i")  # a status as waitpid returns it
_CHANNEL_FD = 3
_FDS_MAX = 1 << 20
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38

Job = Callable[[Channel], None]


def main() -> None:
    hide_pandas()
    control, module = socket.socket(fileno=int(sys.argv[1])), sys.argv[2]
    decoder = importlib.import_module(module)
    decoder.prepare()
    _ForkServer(control, decoder.run).serve()


class _ForkServer:
    def __init__(self, control: socket.socket, job: Job) -> None:
        self._control = control
        self._job = job
        self._statuses: dict[int, socket.socket] = {}  # the sockets for the exit statuses, by process
        self._selector = selectors.DefaultSelector()
        self._wakeup, wakes = os.pipe()
        os.set_blocking(wakes, False)
        os.set_blocking(self._wakeup, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        self._selector.register(control, selectors.EVENT_READ)
        self._selector.register(self._wakeup, selectors.EVENT_READ)

    def serve(self) -> None:
        gc.collect()
        gc.freeze()  # keeps pages shared with the decoders
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._control:
                    if not self._fork():
                        self._kill_all()
                        os._exit(0)  # so that libraries print no messages at exit
                elif key.fileobj == self._wakeup:
                    self._reap()
                elif self._statuses.get(key.data) is key.fileobj:  # the caller has given up this decoder
                    self._selector.unregister(key.fileobj)
                    self._kill(key.data)
                # Otherwise an earlier event of the same batch has reaped it.

    def _fork(self) -> bool:
        """Forks a decoder for the next pair of sockets. Returns False if the caller is gone."""
        data, files, _, _ = socket.recv_fds(self._control, 1, 2)
        if not data or len(files) < 2:
            return False
        channel, status = files
        process = os.fork()
        if process == 0:
            _decode(channel, self._job)
        os.close(channel)
        self._statuses[process] = socket.socket(fileno=status)
        self._selector.register(self._statuses[process], selectors.EVENT_READ, process)
        return True

    def _kill(self, process: int) -> None:
        if process in self._statuses:  # it was not reaped, so no other process has its number
            os.kill(process, signal.SIGKILL)

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._wakeup, 1 << 10):
                pass
        while self._statuses:
            process, ended = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            status = self._statuses.pop(process)
            with suppress(KeyError):
                self._selector.unregister(status)
            with suppress(OSError):
                status.sendall(STATUS.pack(ended))
            status.close()

    def _kill_all(self) -> None:
        for process in list(self._statuses):
            self._kill(process)


def _decode(channel: int, job: Job) -> None:
    """Runs a decoder. Does not return."""
    code = 1
    try:
        _be_alone(channel)
        job(Channel(socket.socket(fileno=_CHANNEL_FD)))
        code = 0
    finally:
        os._exit(code)  # skips the exit handlers of the fork server


def _be_alone(channel: int) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Writing beyond the limit of file size becomes an error that can be reported, instead of the end.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        with suppress(OSError):  # if the machine runs out of memory, the kernel ends this process first
            Path("/proc/self/oom_score_adj").write_text("1000")
    os.dup2(os.open(os.devnull, os.O_RDWR), sys.stderr.fileno())  # hides what libraries print when they fail
    if channel != _CHANNEL_FD:
        os.dup2(channel, _CHANNEL_FD)
    os.closerange(_CHANNEL_FD + 1, _FDS_MAX)


if __name__ == "__main__":
    main()
