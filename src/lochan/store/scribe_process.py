"""The process beside a server that writes and syncs small files: see `scribe.py`.

Several threads wait at one socket, each for a message of its own, so nothing has to be handed on between them.
"""

import os
import signal
import socket
import sys
import threading
import traceback

from lochan.errors import LochanError
from lochan.store.local import PUT, SCRIBE_BYTES_MAX, LocalStore
from lochan.store.scribe import HEAD, ScribeFailure, answer

_THREADS = 8  # they wait for the disk
_PATH_BYTES_MAX = 64 << 10


def main() -> None:
    # A signal to the whole group is for the server, which finishes what it is answering, and needs us for that.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    connection = socket.socket(fileno=int(sys.argv[1]))
    store = LocalStore(sys.argv[2])
    others = [threading.Thread(target=work, args=(connection, store)) for _ in range(_THREADS - 1)]
    for other in others:
        other.start()
    work(connection, store)
    os._exit(0)  # the other end is gone, and what is being written nobody will hear of


def work(connection: socket.socket, store: LocalStore) -> None:
    """Until the other end is closed."""
    parent = os.getppid()
    try:
        while message := connection.recv(HEAD.size + _PATH_BYTES_MAX + SCRIBE_BYTES_MAX):
            if os.getppid() != parent:  # we stood still, and it ended: what it once asked for may be out of date
                return
            number, verb, length = HEAD.unpack_from(message)
            path = message[HEAD.size : HEAD.size + length].decode()
            data = message[HEAD.size + length :]
            connection.send(answer(number, _failure(store, verb, path, data)))
    except OSError:  # nobody is there to be answered
        return
    except BaseException:
        # Whatever it is, nobody knows how far a file has come. When this process has ended, threads do it all again,
        # and sync what they find; an answer would only be believed.
        traceback.print_exc()
        os._exit(1)


def _failure(store: LocalStore, verb: int, path: str, data: bytes) -> ScribeFailure | None:
    try:
        (store.put_now if verb == PUT else store.put_if_absent_now)(path, data)
    except LochanError as error:
        return ScribeFailure(type(error).__name__, error.message, error.hint, store.broken)
    return None


if __name__ == "__main__":
    main()
