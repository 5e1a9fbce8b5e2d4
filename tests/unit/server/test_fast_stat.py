"""The short way of `stat`: which requests take it, that its answers are those of the verb, and that whatever changes is
seen by the next request."""

import json
from base64 import b64encode
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
import pytest

from lochan.access.policies import attach, detach
from lochan.access.users import NewAccessKey, revoke_key, set_disabled
from lochan.api.lake import Lake as Verbs
from lochan.api.session import server_session
from lochan.clock import SystemClock
from lochan.lake import Lake
from lochan.server.rest.fast_stat import FastStat
from lochan.server.rest.object_address import physical_address
from lochan.server.rest.wire import ObjectStats
from lochan.store.local import LocalStore
from lochan.versioning import objects
from tests.run import run
from tests.unit.server.gateway_place import ACTOR
from tests.unit.server.two_paths import People, chunks, opened

PATHS = ("small", "d/small", "empty", "large", "told", "sum", "staged", "odd & <näme> 100%/+~")


class Place(NamedTuple):
    people: People
    fast: FastStat
    verbs: Verbs
    other: Lake  # the same lake in another process

    async def stat(self, who: NewAccessKey, path: str, ref: str = "main", /, **more: Any) -> dict[str, Any] | None:
        """None: it takes the general path."""
        found = await self.fast.answer(scope(who, path, ref, **more), SystemClock().boot())
        return None if found is None else json.loads(found.body)


def scope(who: NewAccessKey, path: str, ref: str = "main", /, **more: Any) -> dict[str, Any]:
    basic = b"Basic " + b64encode(f"{who.access_key_id}:{who.secret_access_key}".encode())
    return {
        "method": "GET",
        "path": f"/api/v1/repositories/bucket/refs/{ref}/objects/stat",
        "query_string": f"path={quote(path, safe='')}".encode(),
        "headers": [(b"host", b"x"), (b"authorization", basic)],
        "client": ("127.0.0.1", 4711),
        "scheme": "http",
        **more,
    }


def played(play: Callable[[Place], Coroutine[Any, Any, None]], folder: Path) -> None:
    async def all() -> None:
        world = await opened(folder)
        session = server_session(world.lake)
        async with session.opened("bucket"):
            pass
        place = Place(
            world.people,
            FastStat(session, world.lake.open_access(), session.lake.url),
            Verbs(session),
            await Lake.open(LocalStore(str(folder / "lake"))),
        )
        for who in world.people:
            await place.fast.learn(scope(who, "small"))
        await play(place)

    run(all())


def test_its_answers_are_those_of_the_verb(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        repository = place.verbs.repository("bucket")
        commit = (await repository.ref("main").resolve()).id
        seen = 0
        for ref in ("main", "v1", commit):
            for path in PATHS:
                found = await place.stat(place.people.admin, path, ref)
                try:
                    details = await repository.ref(ref).details(path)
                except Exception:
                    assert found is None
                    continue
                address = physical_address(details, place.verbs.url, "bucket", ref)
                assert found == msgspec.to_builtins(ObjectStats.of(details.info, address))
                seen += 1
        assert seen > 15, "these are what the short way is for"

    played(play, tmp_path)


def test_whatever_is_not_plain_takes_the_general_path(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        admin = place.people.admin
        stranger = NewAccessKey("nobody", "LKIANOBODYKNOWSTHIS0", "not-the-secret-of-anybody-at-all")
        wrong = NewAccessKey(admin.user, admin.access_key_id, "wrong")
        head = scope(admin, "small")["headers"]
        assert await place.stat(admin, "small") is not None
        assert await place.stat(stranger, "small") is None
        assert await place.stat(wrong, "small") is None
        assert await place.stat(place.people.nothing, "small") is None
        for path in ("missing", "nul\0", "ü" * 600, ""):
            assert await place.stat(admin, path) is None, path
        for ref in ("nowhere", "main~0", "main@", "main$", "main@{now}", "f" * 64, "main+17-9f3a6c21"):
            assert await place.stat(admin, "small", ref) is None, ref
        for more in (
            {"method": "POST"},
            {"method": "HEAD"},
            {"query_string": b"path=small&presign=true"},
            {"query_string": b"path=small&path=told"},
            {"query_string": b"path=%FF"},
            {"query_string": b"path=small;presign=true"},
            {"client": ("192.0.2.1", 1)},
            {"client": None},
            {"headers": [*head, head[1]]},
            {"headers": [head[0]]},
            {"headers": [(b"authorization", b"Bearer x")]},
            {"path": "/api/v1/repositories/other/refs/main/objects/stat"},
            {"path": "/api/v1/repositories/bucket/refs/main/objects/stat/"},
        ):
            assert await place.stat(admin, "small", **more) is None, more

    played(play, tmp_path)


def test_metadata_is_left_out_where_it_is_not_asked_for(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        full = await place.stat(place.people.admin, "told")
        bare = await place.stat(place.people.admin, "told", query_string=b"path=told&user_metadata=false&presign=false")
        assert full is not None and bare is not None
        assert full["metadata"] and bare == {**full, "metadata": {}}

    played(play, tmp_path)


def test_objects_that_one_may_not_read(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        assert await place.stat(place.people.reader, "small") is not None
        assert await place.stat(place.people.reader, "secret/a") is None
        assert await place.stat(place.people.admin, "secret/a") is not None
        assert await place.stat(place.people.reader, "secret/a") is None, "another's rights are not theirs"

    played(play, tmp_path)


def test_what_another_process_changes_is_seen(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        other, reader = await place.other.open_repository("bucket"), place.people.reader
        for size in (1, 2, 3):
            await objects.put(other, "main", "small", chunks(b"x" * size), actor=ACTOR)
            found = await place.stat(reader, "small")
            assert found is not None and found["size_bytes"] == size
        await objects.delete(other, "main", ["small"], actor=ACTOR)
        assert await place.stat(reader, "small") is None
        access = place.other.open_access()
        await detach(access, "readers", "user/reader", actor=ACTOR)
        assert await place.stat(reader, "told") is None
        await attach(access, "readers", "user/reader", actor=ACTOR)
        assert await place.stat(reader, "told") is not None
        await set_disabled(access, "reader", True, actor=ACTOR)
        assert await place.stat(reader, "told") is None
        await set_disabled(access, "reader", False, actor=ACTOR)
        assert await place.stat(reader, "told") is not None
        await revoke_key(access, reader.access_key_id, actor=ACTOR)
        assert await place.stat(reader, "told") is None

    played(play, tmp_path)


def test_a_name_that_comes_to_mean_another_repository(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        admin = place.people.admin
        assert await place.stat(admin, "small") is not None
        await place.other.rename_repository("bucket", "moved", actor=ACTOR)
        assert await place.stat(admin, "small") is None
        await place.other.create_repository("bucket", actor=ACTOR)
        assert await place.stat(admin, "small") is None
        moved = {"path": "/api/v1/repositories/moved/refs/main/objects/stat"}
        assert await place.stat(admin, "small", **moved) is not None
        found = await place.stat(place.people.reader, "small", **moved)
        assert found is not None and found["path"] == "small"

    played(play, tmp_path)


@pytest.mark.parametrize("secret", ["", "wrong", "ünicode"])
def test_credentials_are_learnt_only_if_they_are_right(tmp_path: Path, secret: str) -> None:
    async def play(place: Place) -> None:
        forged = NewAccessKey("admin", place.people.admin.access_key_id, secret)
        await place.fast.learn(scope(forged, "small"))
        assert await place.stat(forged, "small") is None

    played(play, tmp_path)
