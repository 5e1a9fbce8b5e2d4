"""Servers shared by the whole run."""

from collections.abc import Iterator

import pytest

from tests.servers.minio import MinioServer, minio
from tests.servers.postgres import PostgresServer, postgres


@pytest.fixture(scope="session")
def minio_server() -> Iterator[MinioServer]:
    with minio() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with postgres() as server:
        yield server
