"""Servers shared by the whole run."""

from collections.abc import Iterator

import pytest

from tests.integration.emulators import Emulator
from tests.servers.azurite import AzuriteServer, azurite
from tests.servers.gcs import GcsServer, gcs
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


@pytest.fixture(scope="session")
def azurite_server() -> Iterator[AzuriteServer]:
    with azurite() as server:
        yield server


@pytest.fixture(scope="session")
def gcs_server() -> Iterator[GcsServer]:
    with gcs() as server:
        yield server


@pytest.fixture(params=["azurite_server", "gcs_server"], ids=["azure", "google"])
def emulator(request: pytest.FixtureRequest) -> Emulator:
    """Each of the stores that are neither S3 nor local."""
    server: Emulator = request.getfixturevalue(request.param)
    return server
