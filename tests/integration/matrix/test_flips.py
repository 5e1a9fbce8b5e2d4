"""Each row of the server's tables is changed in turn: then the matrix must find a cell that is wrong. So no row can say
less than it should without anybody noticing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lochan
from lochan.access import query_rights
from lochan.api.wrappers import proxy
from lochan.server.api.routes import OPEN, ROUTES, VERBS
from lochan.server.gateway import routes as s3_routes
from tests.integration.matrix.in_process import InProcessTransport
from tests.integration.matrix.places import SCOPES
from tests.integration.matrix.play import BUT, Cell, cells, expected, expected_rules, play, request
from tests.integration.matrix.requests import SOURCES, operations
from tests.integration.matrix.world import World, make_world
from tests.servers.lochan import LOCHAN

IN_TURN = 12  # of so many rows one is changed, where not all are
SHOWN_ELSEWHERE = (
    *("Ref.diff", "Ref.blame_folder", "WritableRef.status", "WritableRef.status_table"),
    *("Workspace.changes", "Workspace.changes_table"),
)
OF_PULLS = ("source", "target")


class Flip(NamedTuple):
    name: str
    operations: list[str]
    change: Callable[[], Callable[[], None]]  # gives back what undoes it


def flips() -> Iterator[Flip]:
    known = operations()
    for key, verb in proxy._ROWS.items():
        of_verb = [name for name in known if name.partition("+")[0] == f"{verb.noun}.{verb.name}"]
        for field in ("needs", "shows"):
            for right in getattr(verb, field):
                if of_verb:
                    yield Flip(f"{verb.noun}.{verb.name} without {right}", of_verb, _without(key, field, right))
    for level, routes in s3_routes.ROUTES.items():
        for mark, route in routes.items():
            yield Flip(f"S3.{route.name} for another action", [f"S3.{route.name}"], _for_another(level, mark))
    for table in (query_rights.OF_REPOSITORY, query_rights.OF_REF, query_rights.OF_OBJECTS, query_rights.OF_LAKE):
        for meta in table:
            front = "from-:" if table is query_rights.OF_LAKE else "from-r"
            of_source = [name for name in SOURCES if name.startswith(front) and name.endswith(f":{meta}")]
            yield Flip(f"{of_source[0]} for another action", of_source, _of_table(table, meta))


def _without(key: tuple[str, str], field: str, right: str) -> Callable[[], Callable[[], None]]:
    def change() -> Callable[[], None]:
        row = proxy._ROWS[key]
        kept = tuple(each for each in getattr(row, field) if each != right)
        _set_row(key, row._replace(needs=kept) if field == "needs" else row._replace(shows=kept))
        return lambda: _set_row(key, row)

    return change


def _set_row(key: tuple[str, str], row: Any) -> None:
    proxy._ROWS[key] = row
    proxy.find_verb.cache_clear()


def _for_another(level: tuple[str, str], mark: str) -> Callable[[], Callable[[], None]]:
    def change() -> Callable[[], None]:
        routes = s3_routes.ROUTES[level]
        route = routes[mark]
        routes[mark] = route._replace(action=_another(route.action))
        return lambda: routes.update({mark: route})

    return change


def _of_table(table: Mapping[str, str], meta: str) -> Callable[[], Callable[[], None]]:
    def change() -> Callable[[], None]:
        assert isinstance(table, dict)
        action = table[meta]
        table[meta] = _another(action)
        return lambda: table.update({meta: action})

    return change


def _another(action: str) -> str:
    return "fs:ReadCommit" if action == "fs:ReadRepository" else "fs:ReadRepository"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flips") / "lake"


@pytest.fixture(scope="module")
def world(folder: Path) -> World:
    subprocess.run([LOCHAN, "init", str(folder)], check=True, capture_output=True)
    with lochan.connect(str(folder), user="ann") as lake:
        lake.access.create_user("admin")
        lake.access.attach("Admin", "admin")
        return make_world(lake, BUT)


@pytest.fixture(scope="module")
def transport(folder: Path, world: World) -> Iterator[InProcessTransport]:
    found = InProcessTransport(folder)
    yield found
    found.close()


@contextmanager
def changed(flip: Flip) -> Iterator[None]:
    undo = flip.change()
    try:
        yield
    finally:
        undo()


def is_noticed(folder: Path, transport: InProcessTransport, world: World, flip: Flip) -> bool:
    """What cannot be undone is played on a copy of the lake."""
    if not any(request(name).final for name in flip.operations):
        return _finds_a_wrong_cell(transport, world, flip)
    copy = folder.parent / "copy"
    shutil.copytree(folder, copy)
    on_copy = InProcessTransport(copy)
    try:
        return _finds_a_wrong_cell(on_copy, world, flip)
    finally:
        on_copy.close()
        shutil.rmtree(copy)


def _finds_a_wrong_cell(transport: InProcessTransport, world: World, flip: Flip) -> bool:
    with changed(flip):
        return any(play(transport, world, cell)[1] not in expected(cell) for cell in cells(flip.operations))


# Rows that no request of the matrix depends on, with what does.
UNSEEN = frozenset(
    (
        # Their routes open the object, by the row of Ref.open.
        "Ref.read without fs:ReadObject {self}/object/{path}",
        "Ref.stream without fs:ReadObject {self}/object/{path}",
        "Pool.query without fs:ReadObject sources",  # its route asks the lake, by the row of Lake.query
        # A bucket or a prefix of the server's is asked for; here the lake is a folder.
        "Lake.create_repository without fs:AttachStorage repository/{name} if storage",
        "Lake.create_pool without fs:AttachStorage repository/{name} if storage",
        # Which rows or objects of an answer are shown: tests/unit/api/test_wrappers.py, with each right alone.
        *(f"{verb} without objects {{self}}" for verb in SHOWN_ELSEWHERE),
        "Ref.diff without objects {right}",
        *(f"PullRequest.{verb} without objects {{pull.{of}}}" for verb in ("diff", "conflicts") for of in OF_PULLS),
        "PullRequest.comments without fs:ReadObject {pull.source}/object/{item.path?}",
        "Repository.compare_branches without fs:ReadBranch {self}/branch/{item.name}",
        "Repository.compare_branches without fs:ReadObject {self}/branch/{item.name}/object/*",
        "from-:joblog for another action",  # have no rows yet
        "from-:usage for another action",
        "from-:lineage for another action",
        "Lake.subscriptions without lake:ManageEvents subscriber:item",
    )
)


@pytest.mark.full
def test_every_changed_row_is_noticed(folder: Path, transport: InProcessTransport, world: World) -> None:
    check(folder, transport, world, 1)


def test_some_changed_rows_are_noticed(folder: Path, transport: InProcessTransport, world: World) -> None:
    check(folder, transport, world, IN_TURN)


def check(folder: Path, transport: InProcessTransport, world: World, step: int) -> None:
    known = list(flips())
    assert {each.name for each in known} >= UNSEEN, "a row that is excused is there no more"
    chosen = [each for each in known if each.name not in UNSEEN][::step]
    unnoticed = [each.name for each in chosen if not is_noticed(folder, transport, world, each)]
    print(f"access matrix: {len(chosen)} of {len(known)} rows were changed, {len(unnoticed)} of them unnoticed")
    assert not unnoticed, "\n".join(unnoticed)


def test_a_route_is_open_only_if_the_expected_file_says_so(transport: InProcessTransport, world: World) -> None:
    """And one that is opened or closed is noticed."""
    for row in ROUTES:
        name = row.name.replace(" ", "-")
        if name not in expected_rules():
            continue
        assert (expected_rules()[name].word == "open") == (row.action == OPEN), name
        if row.action != OPEN or row.method != "GET":
            continue
        cell = Cell(name, "anonymous", SCOPES[request(name).level][0])
        transport.serve(tuple(each._replace(action=VERBS) if each is row else each for each in ROUTES))
        assert play(transport, world, cell)[1] not in expected(cell), name
    transport.serve(ROUTES)
