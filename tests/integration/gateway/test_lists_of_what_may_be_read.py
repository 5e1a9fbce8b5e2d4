"""Lists leave out what a user may not read, page by page, with size and ETag or without, and folders with nothing else
in them.
"""

from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from lochan.access import policies, users
from lochan.access import users as keys
from lochan.formats.lake_events import Statement
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.local import LocalStore
from tests.run import run
from tests.servers.lochan import LochanServer

ADMIN = Actor("admin", "test", "here")
PATHS = [
    "a.csv",
    "data/1",
    "data/2",
    "mixed/open/1",
    "mixed/secret-1",
    "mixed/secret-2",
    "secret/1",
    "secret/deep/2",
    "under/hidden/x",
    "z.csv",
]
SEEN = ["a.csv", "data/1", "data/2", "mixed/open/1", "z.csv"]
_names = count()
Person = Callable[..., Any]


@pytest.fixture
def person(server: LochanServer) -> Iterator[Person]:
    clients = []

    def made(*statements: Statement) -> Any:
        async def create() -> Any:
            lake = await Lake.open(LocalStore(server.lake))
            access, name = lake.open_access(), f"reader-{next(_names)}"
            await users.create_user(access, name, actor=ADMIN)
            await policies.put_policy(access, f"For-{name}", statements, actor=ADMIN)
            await policies.attach(access, f"For-{name}", f"user/{name}", actor=ADMIN)
            key = await keys.create_key(access, name, actor=ADMIN)
            await lake.close()
            return name, server.boto3(key=key.access_key_id, secret=key.secret_access_key)

        name, client = run(create())
        clients.append(client)
        client.user = name
        return client

    yield made
    for client in clients:
        client.close()


@pytest.fixture
def filled(s3: Any, bucket: str) -> str:
    for path in PATHS:
        s3.put_object(Bucket=bucket, Key=f"main/{path}", Body=path.encode())
    return bucket


def partly(bucket: str) -> tuple[Statement, ...]:
    hidden = ("secret/*", "mixed/secret*", "*/hidden/*")
    return (
        Statement("allow", ("*",), ("*",)),
        Statement("deny", ("fs:ReadObject",), tuple(f"repository/{bucket}/object/{each}" for each in hidden)),
    )


def listed(client: Any, bucket: str, prefix: str = "", delimiter: str = "", size: int = 1_000) -> tuple[Any, Any]:
    """Keys and common prefixes of all pages, by version 2; version 1 and the versions must say the same."""
    found: list[tuple[list[str], list[str]]] = []
    for operation, list_of in (("list_objects_v2", "Contents"), ("list_objects", "Contents")):
        keys_found, prefixes = [], []
        pages = client.get_paginator(operation).paginate(
            Bucket=bucket, Prefix=f"main/{prefix}", Delimiter=delimiter, PaginationConfig={"PageSize": size}
        )
        for page in pages:
            assert len(page.get(list_of, [])) + len(page.get("CommonPrefixes", [])) <= size
            keys_found += [each["Key"].removeprefix("main/") for each in page.get(list_of, [])]
            prefixes += [each["Prefix"].removeprefix("main/") for each in page.get("CommonPrefixes", [])]
            token = page.get("NextContinuationToken", "")
            texts = page.get("NextMarker", ""), urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
            marks = {text.removeprefix("main/") for text in texts}
            assert marks <= {"", *keys_found, *prefixes}, "no mark names what is not shown"
        found.append((keys_found, prefixes))
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
def test_denied_objects_are_in_no_list(size: int, person: Person, filled: str) -> None:
    reader = person(*partly(filled))
    assert listed(reader, filled, size=size) == (SEEN, [])
    assert listed(reader, filled, delimiter="/", size=size) == (["a.csv", "z.csv"], ["data/", "mixed/"])
    assert listed(reader, filled, "mixed/", "/", size) == ([], ["mixed/open/"])
    assert listed(reader, filled, "secret/", size=size) == ([], [])
    assert listed(reader, filled, "under/", "/", size) == ([], [])
    versions = reader.list_object_versions(Bucket=filled, Prefix="main/")["Versions"]
    assert [each["Key"].removeprefix("main/") for each in versions] == SEEN


def test_who_may_read_everything_sees_everything(s3: Any, person: Person, filled: str) -> None:
    everybody = person(Statement("allow", ("fs:*",), (f"repository/{filled}/*", "repository/*")))
    for client in (s3, everybody):
        assert listed(client, filled, size=3) == (PATHS, [])
        assert listed(client, filled, delimiter="/") == (
            ["a.csv", "z.csv"], ["data/", "mixed/", "secret/", "under/"]
        )  # fmt: skip


def test_a_list_that_is_kept_is_forgotten_with_the_rights(server: LochanServer, person: Person, filled: str) -> None:
    reader = person(Statement("allow", ("*",), ("*",)))
    for _ in range(2):
        assert listed(reader, filled) == (PATHS, [])

    async def deny() -> None:
        lake = await Lake.open(LocalStore(server.lake))
        await policies.put_policy(lake.open_access(), f"For-{reader.user}", partly(filled), actor=ADMIN)
        await lake.close()

    run(deny())
    for _ in range(2):
        assert listed(reader, filled) == (SEEN, [])


def test_what_may_not_be_read_is_not_copied(person: Person, filled: str) -> None:
    reader = person(*partly(filled))
    with pytest.raises(Exception, match="AccessDenied"):
        reader.copy_object(Bucket=filled, Key="main/copy", CopySource={"Bucket": filled, "Key": "main/secret/1"})
