"""Servers shared by the whole run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.emulators import Emulator
from tests.servers.azurite import AzuriteServer, azurite
from tests.servers.gcs import GcsServer, gcs
from tests.servers.minio import MinioServer, minio
from tests.servers.postgres import PostgresServer, postgres

# Clients that are not ours leave connections to the collector, which finds them in whatever test runs then.
_FOLDER = Path(__file__).parent
_LEFT_OPEN = "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_FOLDER):
            item.add_marker(pytest.mark.filterwarnings(_LEFT_OPEN))


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
