"""Writes and syncs small files of a local store in a process beside a server, and deletes some.

    event loop ──  path, bytes  ──▶ scribe: a temporary file, its sync, its name, the sync of the folder
               ◀── done, or why not ──

A synced file takes a dozen system calls, and at each of them a thread releases the interpreter lock and must get it
back. Beside a busy event loop a put of 0.35 ms took 1.2 to 1.8 ms, and the loop lost as much. Another process has its
own interpreter.

The scribe runs the same code as the threads do, and ends with the process that started it. If it is killed, a thread
repeats its current work: a file is the same whoever puts it, and if a name is taken already, the folder is synced
before the caller gets an answer.

A scribe that does not answer, because it was stopped or hangs, is killed when its time is over, and its work is
repeated only when it is dead: otherwise it might continue later, and put an old file over a newer one. If it cannot
even be killed, the outcome is unknown. Another scribe takes its place (`keep_scribe`)."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from lochan import errors
from lochan.errors import LochanError, Transient, Unknown
from lochan.store.local import DELETE_FOR_REUSE, NAME_END, PUT, SCRIBE_BYTES_MAX, LocalStore

HEAD: Final = struct.Struct("<QBH")  # a request's number, its verb, and the length of its path
DONE: Final = struct.Struct("<Q")  # an answer's number; a ScribeFailure follows it if the request failed

_BUFFER_BYTES = 4 << 20  # requested; the kernel may give less
_FAILURE_BYTES_MAX = 16 << 10
PATIENCE_S: Final = 15.0  # half of the time for which an append is tried; a longer sync means a broken disk
_LOOKS = 3  # how often the waiting requests are looked at in that time
_KILL_S = 5.0  # a killed process that lives longer hangs in the system
_PAUSE_S, _PAUSE_S_MAX = 1.0, 60.0  # the pause before another one is started, which grows each time
_THREADS = 8  # the number of threads, which wait for the disk
_PATH_BYTES_MAX = 64 << 10
_log = logging.getLogger("lochan.store")


class ScribeFailure(msgspec.Struct, array_like=True):
    """An error of Lochan on its way between two processes."""

    name: str  # the name of the error's class
    message: str
    hint: str
    broken: str  # the reason why nothing can be written any more; empty if writing works

    def error(self) -> LochanError:
        kind = getattr(errors, self.name, None)
        if not isinstance(kind, type) or not issubclass(kind, LochanError):
            kind = Transient
        return kind(self.message, hint=self.hint)


class Scribe:
    """The scribe of one event loop. `connection` leads to the process: messages go in, answers come out, in any
    order."""

    def __init__(
        self,
        connection: socket.socket,
        process: "subprocess.Popen[bytes] | None" = None,
        *,
        patience_s: float = PATIENCE_S,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        """`ended` is called after the process has died by itself, or was killed because it did not answer."""
        self._socket = connection
        self._process = process
        self._patience_s = patience_s
        self._ended = ended
        self._socket.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[ScribeFailure | None]] = {}  # in the order in which they were sent
        self._number = 0
        self._sent: deque[int] = deque(maxlen=_LOOKS + 1)  # the last number, at each of the last looks
        self._loop.add_reader(connection.fileno(), self._answered)
        self._timer = self._loop.call_later(patience_s / _LOOKS, self._look)

    @staticmethod
    def suits() -> bool:
        """Returns whether the system has sockets that preserve message boundaries, so that several threads can wait at
        one."""
        return sys.platform == "linux"

    @classmethod
    def start(
        cls, root: bytes, *, patience_s: float = PATIENCE_S, ended: Callable[[], None] = lambda: None
    ) -> "Scribe":
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            for end in (ours, its):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
            # -P: do not import from the folder in which the server was started.
            words = ["-P", "-m", "lochan.store.scribe", str(its.fileno()), os.fsdecode(root)]
            process = subprocess.Popen([sys.executable, *words], pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)
        return cls(ours, process, patience_s=patience_s, ended=ended)

    async def wrote(self, verb: int, path: bytes, data: bytes) -> ScribeFailure | bool:
        """Lets the process write a file. Returns True if it is written and durable, the failure if it failed, and False
        if it may or may not be written; then the caller must write it. Raises Unknown if the process may still write it
        later."""
        if self._socket.fileno() < 0 or asyncio.get_running_loop() is not self._loop:
            return False
        self._number = number = self._number + 1
        try:
            self._socket.sendmsg([HEAD.pack(number, verb, len(path)), path, data])
        except OSError:  # the process has more work than the socket holds, or has died
            return False
        future = self._waiting[number] = self._loop.create_future()
        try:
            failure = await future
        except _Died:
            return False
        except _Hangs:
            raise Unknown(
                f"nobody can say whether {os.fsdecode(path)} was written: the process that writes it hangs",
                hint="check the disk; look whether it happened, or ask again with the same idempotency key",
            ) from None
        return failure or True

    def close(self) -> None:
        """Ends the process. Callers that still wait must do the work themselves."""
        if self._disconnect():
            if self._process is not None:
                threading.Thread(target=_reap, args=(self._process, _KILL_S), daemon=True).start()
            self._release(_Died)

    def _disconnect(self) -> bool:
        """Closes the connection: from now on callers do the work themselves. Returns False if it was closed before."""
        if self._socket.fileno() < 0:
            return False
        self._timer.cancel()
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        return True

    def _release(self, why: type[Exception]) -> None:
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(why())

    # --- one that does not answer ------------------------------------------------------------------------------------
    def _look(self) -> None:
        """Gives up if the oldest request was sent more than `_LOOKS` looks ago. This costs a request nothing. If this
        process itself was stopped, that counts as one look, not three."""
        self._sent.append(self._number)
        oldest = next(iter(self._waiting), None)
        if oldest is not None and len(self._sent) == _LOOKS + 1 and oldest <= self._sent[0]:
            self._give_up()
        else:
            self._timer = self._loop.call_later(self._patience_s / _LOOKS, self._look)

    def _give_up(self) -> None:
        _log.warning(
            "the process that writes small files has not answered for %.0f s, with %d files in hand: it is killed",
            self._patience_s,
            len(self._waiting),
        )
        self._disconnect()
        threading.Thread(target=self._kill, daemon=True).start()
        self._loop.call_later(_KILL_S, self._release, _Hangs)

    def _kill(self) -> None:
        """Kills the process, in a thread. SIGKILL also ends a stopped process, but not one that waits for a disk in the
        kernel."""
        if self._process is not None:
            _reap(self._process)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._dead)

    def _dead(self) -> None:
        self._release(_Died)
        self._ended()

    def _answered(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                try:
                    answer = self._socket.recv(DONE.size + _FAILURE_BYTES_MAX)
                except ConnectionResetError:
                    answer = b""
                if not answer:
                    _log.warning("the process that writes small files has ended; threads do its work meanwhile")
                    self.close()
                    self._ended()
                    return
                self._settle(answer)

    def _settle(self, answer: bytes) -> None:
        (number,) = DONE.unpack_from(answer)
        future = self._waiting.pop(number, None)
        if future is not None and not future.done():  # a cancelled caller does not wait any more
            rest = answer[DONE.size :]
            future.set_result(_failures.decode(rest) if rest else None)


class _Died(Exception):
    pass


class _Hangs(Exception):
    pass


def _reap(process: "subprocess.Popen[bytes]", after_s: float = 0.0) -> None:
    """Returns when the process is dead. It has `after_s` seconds to end by itself."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(after_s)
        return
    process.kill()
    process.wait()


def keep_scribe(
    root: bytes, use: Callable[[Scribe], None], *, patience_s: float = PATIENCE_S, pause_s: float = _PAUSE_S
) -> Callable[[], None]:
    """Calls `use` with a scribe for the running event loop, and after its death with another one. Returns a function
    that ends this."""
    loop, died, over = asyncio.get_running_loop(), 0, False
    current: Scribe | None = None

    def start() -> None:
        nonlocal current
        if not over:
            current = Scribe.start(root, patience_s=patience_s, ended=start_later)
            use(current)

    def start_later() -> None:
        nonlocal died
        loop.call_later(min(pause_s * (1 << min(died, 10)), _PAUSE_S_MAX), start)
        died += 1

    def end() -> None:
        nonlocal over
        over = True
        if current is not None:
            current.close()

    start()
    return end


# --- the other end: the process itself --------------------------------------------------------------------------------
# Several threads wait at one socket, each for a message of its own, so nothing has to be handed on between them.
def main() -> None:
    # A signal to the whole group is for the server, which finishes its answers and needs us for that.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    connection = socket.socket(fileno=int(sys.argv[1]))
    store = LocalStore(sys.argv[2])
    drop_spares = store.reuse_files()
    others = [threading.Thread(target=work, args=(connection, store)) for _ in range(_THREADS - 1)]
    for other in others:
        other.start()
    work(connection, store)
    drop_spares()
    os._exit(0)  # the other end is gone, and does not wait for what is being written


def work(connection: socket.socket, store: LocalStore) -> None:
    """Does the work of requests until the other end is closed."""
    parent = os.getppid()
    try:
        while message := connection.recv(HEAD.size + _PATH_BYTES_MAX + SCRIBE_BYTES_MAX):
            if os.getppid() != parent:  # we were stopped while it ended: its requests may be out of date
                return
            number, verb, length = HEAD.unpack_from(message)
            path = message[HEAD.size : HEAD.size + length].decode()
            data = message[HEAD.size + length :]
            connection.send(answer(number, _failure(store, verb, path, data)))
    except OSError:  # the other end is gone
        return
    except BaseException:
        # It is unknown how far a file was written. After this process has ended, threads write everything again and
        # sync what they find. An answer would be trusted.
        traceback.print_exc()
        os._exit(1)


def _failure(store: LocalStore, verb: int, path: str, data: bytes) -> ScribeFailure | None:
    try:
        if verb == DELETE_FOR_REUSE:
            store.delete_for_reuse_now([name.decode() for name in data.split(NAME_END)])
        else:
            (store.put_now if verb == PUT else store.put_if_absent_now)(path, data)
    except LochanError as error:
        return ScribeFailure(type(error).__name__, error.message, error.hint, store.broken)
    return None


def answer(number: int, failure: ScribeFailure | None) -> bytes:
    """Returns the answer that the process sends back."""
    if failure is None:
        return DONE.pack(number)
    data = msgspec.msgpack.encode(failure)
    if len(data) > _FAILURE_BYTES_MAX:
        data = msgspec.msgpack.encode(ScribeFailure(failure.name, failure.message[:1_000], "", failure.broken[:1_000]))
    return DONE.pack(number) + data


_failures = msgspec.msgpack.Decoder(ScribeFailure)

if __name__ == "__main__":
    main()
