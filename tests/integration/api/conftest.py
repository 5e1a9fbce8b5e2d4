"""A served lake for the tests of the API: a pool, a repository of files, and an administrator."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.api.client import Client
from tests.integration.cli import fine
from tests.servers.lochan import LochanServer, lochan_server

FEW = {"LOCHAN_API__QUERY__AT_ONCE": "2", "LOCHAN_API__QUERY__WAITING": "1", "LOCHAN_API__QUERY__MEMORY": "300MB"}
NO_SPARK = {"LOCHAN_SPARK__WARM": "true", "JAVA_HOME": "/nowhere"}  # it is tried, and goes without


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("served") / "lake", env={**FEW, **NO_SPARK}) as running:
        fill(running, tmp_path_factory.mktemp("files"))
        yield running
        traceback = running.traceback()
    assert not traceback, traceback


@pytest.fixture(scope="session")
def admin(server: LochanServer) -> Client:
    return Client(server.api, server.access_key, server.secret_key)


def fill(server: LochanServer, folder: Path) -> None:
    """Runs in this process, not in the server's."""

    def lochan(*words: str, rows: bytes = b"") -> None:
        (folder / "rows.ndjson").write_bytes(rows)
        fine("--lake", server.lake, *words, *([str(folder / "rows.ndjson")] if rows else []))

    lochan("create", "logs", "--key", "k")
    lochan("load", "logs", rows=b"".join(b'{"k":%d,"host":"h%d"}\n' % (each, each % 3) for each in range(10_000)))
    lochan("branch", "create", "logs@dev", "--from", "main")
    lochan("load", "logs@dev", rows=b'{"k":-1,"host":"new"}\n')
    lochan("create", "secrets", "--key", "k")
    lochan("load", "secrets", rows=b'{"k":1,"host":"hidden"}\n')
    lochan("repo", "create", "demo")
    for name in ("open", "closed"):
        (folder / "up" / name).mkdir(parents=True)
        (folder / "up" / name / "a.csv").write_text(f"n,where\n1,{name}\n")
    lochan("fs", "upload", "-r", str(folder / "up"), "demo@main/")
    lochan("commit", "demo@main", "-m", "two files")
    lochan("tag", "create", "demo@v1")
