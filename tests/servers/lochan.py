"""A real `lochan serve` for tests and benchmarks, as a process of its own on free ports.

with lochan_server(folder / "lake") as server:
    server.lochan("repo", "create", "demo")
    client = server.boto3()
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LOCHAN = Path(sys.executable).parent / "lochan"
_START_S = 120


@dataclass(frozen=True)
class LochanServer:
    lake: str
    s3: str  # host:port
    flat: str
    api: str
    access_key: str
    secret_key: str
    process: subprocess.Popen[bytes]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def endpoint(self) -> str:
        return f"http://{self.s3}"

    @property
    def flat_endpoint(self) -> str:
        return f"http://{self.flat}"

    def traceback(self) -> str:
        """The first one in the log, and what led to it; empty: none."""
        before, found, rest = self.log.read_text().partition("Traceback")
        return before[-1_000:] + found + rest[:5_000] if found else ""

    def lochan(self, *words: str, stdin: bytes | None = None) -> str:
        """Another process on the same lake."""
        done = subprocess.run(
            [LOCHAN, "--lake", self.lake, *words], input=stdin, capture_output=True, env=dict(self.env), check=False
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.decode()

    def boto3(self, *, flat: bool = False, key: str = "", secret: str = "", **config: Any) -> Any:
        """The caller closes it."""
        import boto3
        from botocore.config import Config

        return boto3.client(
            "s3",
            endpoint_url=self.flat_endpoint if flat else self.endpoint,
            aws_access_key_id=key or self.access_key,
            aws_secret_access_key=secret or self.secret_key,
            region_name="us-east-1",
            config=Config(retries={"max_attempts": 1}, **config),
        )


@contextmanager
def lochan_server(
    lake: str | Path,
    *,
    env: Mapping[str, str] | None = None,
    init: bool = True,
    workers: int = 1,
    options: Sequence[str] = (),
    under: Sequence[str] = (),
) -> Iterator[LochanServer]:
    """`options` are further ones of `serve`; `under` is a command that runs it, such as a tracer."""
    folder = Path(os.environ.get("TMPDIR", "/tmp"))
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if name == "LOCHAN_COMPANION" or not name.startswith(("LOCHAN_", "AWS_"))
        },
        "LOCHAN_CACHE__PATH": str(folder / f"lochan-cache-{os.getpid()}"),
        **(env or {}),
        "LOCHAN_ADMIN_ACCESS_KEY_ID": "LOCHANTESTADMIN00001",
        "LOCHAN_ADMIN_SECRET_ACCESS_KEY": "the-secret-of-the-admin-of-the-tests-000",
    }
    if init:
        subprocess.run([LOCHAN, "init", str(lake)], env=environment, check=True, capture_output=True)
    s3, flat, api = (f"127.0.0.1:{port}" for port in free_ports(3))
    log = folder / f"lochan-serve-{os.getpid()}-{s3.rpartition(':')[2]}.log"
    listen = ("--s3-listen", s3, "--flat-listen", flat, "--api-listen", api, "--workers", str(workers))
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*under, LOCHAN, "--lake", str(lake), "serve", *listen, *options],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    server = LochanServer(
        str(lake),
        s3,
        flat,
        api,
        environment["LOCHAN_ADMIN_ACCESS_KEY_ID"],
        environment["LOCHAN_ADMIN_SECRET_ACCESS_KEY"],
        process,
        log,
        environment,
    )
    try:
        _wait_until_ready(server)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(40)
        finally:
            process.kill()
            log.unlink()


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _wait_until_ready(server: LochanServer) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.process.poll() is None:
        if b"\nready" in server.log.read_bytes():
            return
        time.sleep(0.1)
    raise AssertionError(f"the server did not start: {server.log.read_text()}")
