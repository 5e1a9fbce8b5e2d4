"""Who may do what through a running server: role × operation × scope × door, against answers written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

import lochan
from tests.integration.matrix.play import (
    BUT,
    TWO_WAYS,
    cells,
    expected,
    expected_rules,
    play,
    play_the_general_way,
)
from tests.integration.matrix.requests import operations
from tests.integration.matrix.wire import HttpTransport
from tests.integration.matrix.world import World, make_world
from tests.servers.lochan import LochanServer, lochan_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("matrix") / "lake") as running:
        yield running
        traceback = running.traceback()
    assert not traceback, traceback


@pytest.fixture(scope="module")
def world(server: LochanServer) -> World:
    with lochan.connect(server.lake, user="ann") as lake:
        return make_world(lake, BUT)


def test_every_route_and_every_source_stands_in_the_expected_file() -> None:
    assert sorted(operations()) == sorted(expected_rules())


def test_the_matrix(server: LochanServer, world: World) -> None:
    count, wrong = 0, []
    with closing(HttpTransport(server.api, server.s3)) as transport:
        for cell in cells():
            ways = (play, play_the_general_way) if cell.operation in TWO_WAYS else (play,)
            for way in ways:
                answer, found = way(transport, world, cell)
                count += 1
                if found not in expected(cell):
                    wrong.append((cell, way.__name__, expected(cell), found, answer))
    print(f"access matrix: {count:,} cells, {len(wrong)} wrong")
    assert count >= 5_000
    assert not wrong, "\n".join(map(str, wrong[:20]))
