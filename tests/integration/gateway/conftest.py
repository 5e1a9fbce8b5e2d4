"""A served lake for the tests of the gateway. Each test creates its own repository in it."""

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.servers.lochan import LochanServer, lochan_server

_names = count()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    """It also accepts signatures of version 2, which are off by default."""
    env = {"LOCHAN_GATEWAYS__S3__SIGNATURE_V2": "true"}
    with lochan_server(tmp_path_factory.mktemp("served") / "lake", env=env) as running:
        yield running
        log, traceback = running.log.read_text(), running.traceback()
    assert not traceback, traceback
    assert "InternalError" not in log, log


@pytest.fixture
def s3(server: LochanServer) -> Iterator[Any]:
    with closing(server.boto3()) as client:
        yield client


@pytest.fixture
def bucket(s3: Any) -> str:
    name = f"bucket-{next(_names)}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
