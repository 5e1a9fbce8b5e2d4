"""Errors of the lake as S3 errors: clients learn what is wrong, but not where the lake is."""

import asyncio
from pathlib import Path

import pytest

from lochan.access.users import ensure_admin
from lochan.errors import Corrupt, DiskFull, Invalid, Transient
from lochan.lake import Lake
from lochan.server.gateway.error_codes import as_s3
from lochan.server.settings import S3Settings
from lochan.store.local import LocalStore
from tests.run import run
from tests.unit.server.gateway_place import ACTOR, Place, signed


@pytest.mark.parametrize(
    "store, message, told",
    [
        ("file:///srv/lake", "file:///srv/lake/a/b: Not a directory", "a/b: Not a directory"),
        ("file:///srv/lake", "the folder /srv/lake/a could not be synced", "the folder a could not be synced"),
        ("file:///srv/lake", "the folder /srv/lake is gone", "the folder the store is gone"),
        ("s3://bucket/lake", "s3://bucket/lake/x did not answer", "x did not answer"),
        ("s3://bucket/lake", "no such branch: dev", "no such branch: dev"),
    ],
)
def test_files_are_named_by_their_paths_in_the_store(store: str, message: str, told: str) -> None:
    for kind, code in (
        (Invalid, "InvalidArgument"),
        (Transient, "ServiceUnavailable"),
        (DiskFull, "ServiceUnavailable"),
    ):
        error = as_s3(kind(message), store)
        assert error is not None
        assert (error.code, error.message) == (code, told)
    assert as_s3(Corrupt(message), store) is None


def test_clients_do_not_learn_where_the_lake_is(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await Lake.create(LocalStore(str(tmp_path / "lake"), create=True))
        admin = await ensure_admin(lake.open_access(), actor=ACTOR)
        assert admin is not None
        made = await lake.create_repository("demo", actor=ACTOR)
        (tmp_path / "lake" / made.id / "data").write_bytes(b"in the way")
        place = Place(lake, fastpath=True, settings=S3Settings())
        place.app.__rsgi_init__(asyncio.get_running_loop())
        for _ in range(2):  # the general way, and the short one
            answer = await place.ask(signed(admin, "PUT", "/demo/main/a", body=b"x"))
            assert answer.status == 400
            assert b"Not a directory" in answer.body
            assert str(tmp_path).encode() not in answer.body

    run(play())
