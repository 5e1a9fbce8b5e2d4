"""A store that takes no writes, or is gone: clients are asked to come back, and never get AccessDenied."""

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lochan.access.users import NewAccessKey, ensure_admin
from lochan.cli.exit_codes import BY_KIND, REFUSED
from lochan.errors import Refused, Unavailable
from lochan.lake import Lake
from lochan.server.api.errors import error_response, status_of
from lochan.server.settings import S3Settings
from lochan.store.local import LocalStore
from tests.run import run
from tests.unit.server.gateway_place import ACTOR, Place, signed
from tests.unit.store.test_local import fail


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[Place, NewAccessKey]]:
    lake = await Lake.create(LocalStore(str(folder / "lake"), create=True))
    admin = await ensure_admin(lake.open_access(), actor=ACTOR)
    assert admin is not None
    await lake.create_repository("demo", actor=ACTOR)
    place = Place(lake, fastpath=True, settings=S3Settings())
    place.app.__rsgi_init__(asyncio.get_running_loop())
    answer = await place.ask(signed(admin, "PUT", "/demo/main/a", body=b"x"))
    assert answer.status == 200
    yield place, admin


@pytest.mark.parametrize("replaced", [False, True])
def test_a_folder_that_is_gone(tmp_path: Path, replaced: bool) -> None:
    async def play() -> None:
        async with served(tmp_path) as (place, admin):
            (tmp_path / "lake").rename(tmp_path / "elsewhere")
            if replaced:
                (tmp_path / "lake").mkdir()
            await asyncio.sleep(0.1)  # a folder that has vanished may go unnoticed for half of that
            for method, body in (("PUT", b"y"), ("GET", b""), ("HEAD", b""), ("DELETE", b"")):
                for _ in range(2):  # the general way, and the short one
                    answer = await place.ask(signed(admin, method, "/demo/main/a", body=body))
                    assert (method, answer.status) == (method, 503)
                    assert answer.headers["retry-after"] == "1"
                    words = b"gone" if not replaced else b"not the one that was opened"
                    assert method == "HEAD" or words in answer.body
                    assert str(tmp_path).encode() not in answer.body
            assert not replaced or list((tmp_path / "lake").iterdir()) == []

    run(play())


def test_a_disk_that_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with served(tmp_path) as (place, admin):
            with monkeypatch.context() as patch:
                fail(patch, "fsync", errno.EROFS)
                fail(patch, "fdatasync", errno.EROFS)
                for _ in range(2):
                    answer = await place.ask(signed(admin, "PUT", "/demo/main/b", body=b"y"))
                    assert answer.status == 503
                    assert b"Read-only file system" in answer.body
            assert (await place.ask(signed(admin, "GET", "/demo/main/a"))).status == 200

    run(play())


def test_it_is_one_kind_at_every_door() -> None:
    error = Unavailable("the folder is gone")
    assert isinstance(error, Refused)  # code that handles refusals handles it too
    assert status_of(error) == 503
    assert error_response(error).headers["retry-after"] == "1"
    assert BY_KIND[error.kind] == REFUSED
