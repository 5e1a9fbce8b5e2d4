"""A renamed repository is judged by its new name at once, on either path of a request."""

import asyncio

import pytest

from lochan.access.policies import attach, put_policy
from lochan.access.users import create_key, create_user
from lochan.lake import Lake
from lochan.server.settings import S3Settings
from lochan.store.local import LocalStore
from tests.run import run
from tests.unit.access.place import allow
from tests.unit.server.gateway_place import ACTOR, Place, signed


@pytest.mark.parametrize("fastpath", [True, False], ids=["the short way", "the general way"])
def test_who_might_read_the_old_name_may_not_read_the_new_one(tmp_path: object, fastpath: bool) -> None:
    async def work() -> None:
        lake = await Lake.create(LocalStore(str(tmp_path), create=True))
        access = lake.open_access()
        await lake.create_repository("public", actor=ACTOR)
        await create_user(access, "bob", actor=ACTOR)
        await put_policy(access, "Public", [allow("fs:*", "repository/public repository/public/*")], actor=ACTOR)
        await attach(access, "Public", "user/bob", actor=ACTOR)
        bob = await create_key(access, "bob", actor=ACTOR)
        place = Place(lake, fastpath=fastpath, settings=S3Settings())
        place.app.__rsgi_init__(asyncio.get_running_loop())

        async def status(method: str, bucket: str) -> int:
            body = b"x" if method == "PUT" else b""
            return (await place.ask(signed(bob, method, f"/{bucket}/main/a", body=body))).status

        assert [await status(method, "public") for method in ("PUT", "GET", "GET", "HEAD")] == [200] * 4
        await lake.rename_repository("public", "secret", actor=ACTOR)
        assert [await status(method, "secret") for method in ("GET", "HEAD", "PUT", "DELETE")] == [403] * 4
        assert await status("GET", "public") == 404
        await lake.create_repository("public", actor=ACTOR)
        assert [await status(method, "public") for method in ("GET", "PUT", "GET")] == [404, 200, 200]
        await lake.close()

    run(work())
