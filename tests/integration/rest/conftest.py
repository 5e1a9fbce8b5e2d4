"""A served lake for the tests of the REST API."""

from collections.abc import Iterator

import pytest

from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer, lochan_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("rest") / "lake") as running:
        yield running
        traceback = running.traceback()
    assert not traceback, traceback


@pytest.fixture(scope="session")
def admin(server: LochanServer) -> Client:
    return Client(server.api, server.access_key, server.secret_key)
