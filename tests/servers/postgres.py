"""A real PostgreSQL for tests and benchmarks, alone on a free port with a temporary folder.

    with postgres() as server:
        PostgresConnection(server.url)
        server.stop(immediate=True)   # as if the power had gone
        server.start()

The programs are Debian's (package postgresql). PostgreSQL refuses to run as root, so root becomes `postgres` for it.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg

_START_SECONDS = 60
_USER = "postgres"
_PASSWORD = "a secret/with%20odd+letters"
_CONFIGURATION = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 32MB
max_connections = 60
fsync = on
synchronous_commit = off   # a journal that wants its appends synced must say so itself
"""


class PostgresServer:
    def __init__(self, folder: Path) -> None:
        self.port = _free_port()
        self.url = self.url_of("postgres")
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = count()

    def url_of(self, database: str, *, user: str = _USER, password: str = _PASSWORD) -> str:
        from urllib.parse import quote

        return f"postgresql://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The URL of one with nothing in it."""
        name = f"test{next(self._databases)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url_of(name)

    def execute(self, statement: str, url: str | None = None) -> list[tuple[object, ...]]:
        with psycopg.connect(url or self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    @property
    def pid(self) -> int:
        """Of the first process. REQUIRES: it runs."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*_as_user(), _program("postgres"), "-D", str(self._folder / "data"), "-p", str(self.port)],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
            )
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise RuntimeError(f"PostgreSQL did not start:\n{(self._folder / 'log').read_text()}")

    def stop(self, *, immediate: bool = False) -> None:
        """`immediate` drops everything at once; what was not synced is lost, and a start recovers the rest."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if immediate else signal.SIGINT)
            self._process.wait(_START_SECONDS)
            self._process = None


@contextmanager
def postgres(*, on_disk: bool = False) -> Iterator[PostgresServer]:
    """Its folder is in memory if possible: it syncs what it commits, and after a crash its whole folder. A test gains
    nothing from a slow disk; a benchmark asks for one."""
    install()
    memory = "/dev/shm" if not on_disk and os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="lochan-postgres-", dir=memory) as name:
        folder = Path(name)
        _initialise(folder)
        server = PostgresServer(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop(immediate=True)


def _initialise(folder: Path) -> None:
    password = folder / "password"
    password.write_text(_PASSWORD)
    if os.getuid() == 0:
        for path in (folder, password):
            shutil.chown(path, _account().pw_uid, _account().pw_gid)
    options = ["-D", str(folder / "data"), "-U", _USER, "-A", "scram-sha-256", f"--pwfile={password}"]
    subprocess.run(
        [*_as_user(), _program("initdb"), *options, "-E", "UTF8", "--no-locale", "--no-sync"],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
    )
    with (folder / "data" / "postgresql.conf").open("a") as file:
        file.write(_CONFIGURATION)


def _as_user() -> list[str]:
    """The server ends with the thread that started it, however that ends, so the main thread should start it."""
    command = ["setpriv", "--pdeathsig", "QUIT"]
    if os.getuid() == 0:
        command += [f"--reuid={_account().pw_uid}", f"--regid={_account().pw_gid}", "--clear-groups"]
    return command


def _account() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(_USER)
    except KeyError:
        subprocess.run(["useradd", "--system", _USER], check=True)
        return pwd.getpwnam(_USER)


def install() -> None:
    if _find("postgres") and _find("initdb"):
        return
    if os.getuid() != 0:
        raise RuntimeError("PostgreSQL is needed for this: install Debian's package postgresql")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-qq"], ["install", "-y", "-qq", "postgresql"]):  # a new machine's lists may be empty
        subprocess.run(["apt-get", *words], check=True, env=quiet, stdout=subprocess.DEVNULL)


def _program(name: str) -> str:
    found = _find(name)
    if found is None:
        raise RuntimeError(f"there is no {name} in /usr/lib/postgresql or on the PATH")
    return found


def _find(name: str) -> str | None:
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda p: int(p.parts[-3]))
    return str(installed[-1]) if installed else shutil.which(name)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
