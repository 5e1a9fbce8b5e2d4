"""A lake behind a real server, for the same tests as a lake in a folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import lochan
from tests.servers.lochan import LochanServer, lochan_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("remote") / "lake") as running:
        yield running
        traceback = running.traceback()
    assert not traceback, traceback


@pytest.fixture
def lake(server: LochanServer) -> Iterator[lochan.Lake]:
    """It is empty: what a test leaves behind is deleted."""
    with lochan.connect(
        f"http://{server.api}", access_key=server.access_key, secret_key=server.secret_key, user="ann"
    ) as found:
        yield found
        for each in list(found.repositories()):
            found.repository(each.name).delete(force=True)
