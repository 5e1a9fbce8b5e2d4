"""A lake with two gateways, one with the fast path and one without. Their answers must be the same."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from lochan.access.policies import attach, put_policy
from lochan.access.users import NewAccessKey, create_key, create_user, ensure_admin
from lochan.lake import Lake
from lochan.server.settings import S3Settings
from lochan.store.local import LocalStore
from lochan.versioning import objects
from lochan.versioning.branches import create_branch, create_tag
from lochan.versioning.heads.commit import CommitRequest, commit
from tests.unit.access.place import allow, deny
from tests.unit.server.gateway_place import ACTOR, Answer, Asked, Place

LARGE = bytes(range(256)) * 400  # more than is read at once


class People(NamedTuple):
    admin: NewAccessKey
    reader: NewAccessKey  # of all but one folder
    nothing: NewAccessKey


class World(NamedTuple):
    lake: Lake
    people: People
    short: Place
    general: Place

    async def both(self, asked: Asked) -> Answer:
        """The answer, which must be the same."""
        before = len(self.short.noted), len(self.general.noted)
        one, other = await self.short.ask(asked), await self.general.ask(asked)
        assert comparable(one) == comparable(other), asked
        assert self.short.noted[before[0] :] == self.general.noted[before[1] :], asked
        return one


async def opened(folder: Path, *, flat: bool = False, idle_s: float = 60.0) -> World:
    lake = await Lake.create(LocalStore(str(folder / "lake"), create=True))
    people = await _people(lake)
    await lake.create_repository("bucket", actor=ACTOR)
    settings = S3Settings(flat=flat, idle_s=idle_s)
    world = World(
        lake, people, Place(lake, fastpath=True, settings=settings), Place(lake, fastpath=False, settings=settings)
    )
    for place in (world.short, world.general):
        place.app.__rsgi_init__(asyncio.get_running_loop())
    await _fill(lake)
    return world


async def _people(lake: Lake) -> People:
    access = lake.open_access()
    admin = await ensure_admin(access, actor=ACTOR)
    assert admin is not None
    await create_user(access, "reader", actor=ACTOR)
    await create_user(access, "nothing", actor=ACTOR)
    everything = "repository/*/object/*"
    reading = [allow("fs:ReadObject fs:ListRepositories", f"{everything} repository/*")]
    await put_policy(access, "readers", [*reading, deny("fs:ReadObject", "repository/*/object/secret/*")], actor=ACTOR)
    await attach(access, "readers", "user/reader", actor=ACTOR)
    reader = await create_key(access, "reader", actor=ACTOR)
    return People(admin, reader, await create_key(access, "nothing", actor=ACTOR))


async def _fill(lake: Lake) -> None:
    repository = await lake.open_repository("bucket")
    for path in ("small", "d/small", "secret/a", "odd & <näme> 100%/+~"):
        await objects.put(repository, "main", path, chunks(f"body of {path}".encode()), actor=ACTOR)
        await objects.put(repository, "main", f"main/{path}", chunks(b"for the flat listener"), actor=ACTOR)
    await objects.put(repository, "main", "empty", chunks(b""), actor=ACTOR)
    await objects.put(repository, "main", "large", chunks(LARGE), actor=ACTOR)
    more = {"headers": {"cache-control": "no-store"}, "metadata": {"colour": "blau", "näme": "ü"}}
    await objects.put(repository, "main", "told", chunks(b"body of told"), actor=ACTOR, content_type="text/x", **more)  # type: ignore[arg-type]
    _, mint = await repository.refs()
    summed = await repository.bodies.write("sum", chunks(b"body of sum"), mint=mint, checksums={"CRC32": None})
    await objects.put_many(repository, "main", [summed], actor=ACTOR)
    await commit(repository, "main", CommitRequest("first"), actor=ACTOR)
    await create_branch(repository, "other", "main", actor=ACTOR)
    await create_tag(repository, "v1", "main", actor=ACTOR)
    await objects.put(repository, "main", "staged", chunks(b"body of staged"), actor=ACTOR)


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data


_ID = re.compile(rb"<(RequestId|HostId)>[^<]*<")
_TIME = re.compile(rb"<ServerTime>[^<]*<")


def comparable(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    headers = {name: value for name, value in answer.headers.items() if name != "x-amz-request-id"}
    return answer.status, headers, _TIME.sub(b"", _ID.sub(b"", answer.body))
