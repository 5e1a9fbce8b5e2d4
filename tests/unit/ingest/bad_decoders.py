"""Decoders that misbehave in ways that ours do not. The first word of a request names the job."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pyarrow as pa

from lochan.ingest.channel import BATCH, DONE, Channel, encode
from lochan.ingest.process_limits import ProcessLimits

MODULE = "tests.unit.ingest.bad_decoders"


def prepare() -> None:
    pass


def run(channel: Channel) -> None:
    word, _, number = bytes(channel.receive(1 << 20).data).decode().partition(" ")
    match word:
        case "signal":
            os.kill(os.getpid(), int(number))
        case "exit":
            os._exit(int(number))
        case "sleep":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            channel.send(DONE)
            time.sleep(1_000)
        case "long":
            channel.socket.sendall(BATCH + (1 << 50).to_bytes(8, "little"))
            time.sleep(1_000)
        case "half":
            channel.socket.sendall(BATCH + (100).to_bytes(8, "little") + b"x" * 10)
        case "environment":
            channel.send(DONE, encode(dict(os.environ)))
        case "files":
            every = [each for each in Path("/proc/self/fd").iterdir() if int(each.name) > 2 and each.exists()]
            channel.send(DONE, encode([str(each.readlink()) for each in every if not each.is_dir()]))
        case "memory":
            ProcessLimits(0, 1 << 30).apply()
            try:
                held = pa.allocate_buffer(int(number))
                channel.send(DONE, encode(held.size))
            except MemoryError:
                channel.send(DONE, encode("no memory"))
        case "disk":
            ProcessLimits(1 << 30, 1 << 20).apply()
            path, _, size = number.partition(" ")
            try:
                Path(path).write_bytes(bytes(int(size)))
                channel.send(DONE, encode("written"))
            except OSError as error:
                channel.send(DONE, encode(os.strerror(error.errno or 0)))
        case "processor":
            ProcessLimits(1 << 30, 1 << 20, 1).apply()
            while True:
                pass
