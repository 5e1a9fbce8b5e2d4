"""Addresses that are given out and linked once, and outside files that are linked where they are."""

import asyncio
import hashlib
from collections.abc import AsyncIterator

import pytest

from lochan.errors import BadDigest, Conflict, Corrupt, Invalid, LochanError, NotFound, Refused
from lochan.formats import key_file
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.lake import Lake, LakeOptions
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.versioning import links, objects
from lochan.versioning.bodies import tokens as token_key
from lochan.versioning.branches import create_branch
from lochan.versioning.copy import CopyChanges
from lochan.versioning.links import LinkOptions
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.unit.store.clocks import StillClock

ANN = Actor("ann", "test", "here")


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


class Place:
    def __init__(self) -> None:
        self.store = MemoryStore()
        self.clock = StillClock()
        self.others = {"s3://data": MemoryStore()}

    async def opened(self) -> OpenRepository:
        lake = await Lake.create(self.store, clock=self.clock, world=LakeOptions(self.open))
        await lake.create_repository("demo-repo", actor=ANN)
        return await lake.open_repository("demo-repo")

    async def again(self) -> OpenRepository:
        lake = await Lake.open(self.store, clock=self.clock, world=LakeOptions(self.open))
        return await lake.open_repository("demo-repo")

    def open(self, url: str) -> Store:
        return self.others[url]


def test_bytes_are_put_by_the_client_and_linked_once() -> None:
    async def play() -> None:
        place = Place()
        repository = await place.opened()
        given = await links.physical_address(repository, "main", "a/b", actor=ANN)
        assert given.address.startswith(f"{repository.repository.id}/data/")
        assert given.url == f"{place.store.url}/{given.address}"
        with pytest.raises(NotFound, match="put the bytes there first"):
            await links.link(repository, "main", "a/b", given.token, actor=ANN)
        await place.store.put(given.address, b"1234")
        other = await place.again()  # another process, which has to know the key
        changes = CopyChanges("text/csv", None, {"k": "v"})
        entry = await links.link(other, "main", "a/b", given.token, actor=ANN, options=changes)
        assert (entry.size, entry.checksum) == (4, hashlib.md5(b"1234").hexdigest())
        assert (entry.content_type, entry.metadata) == ("text/csv", {"k": "v"})
        assert await objects.stat(repository, "main", "a/b") == entry
        assert await repository.reader.read_all(entry) == b"1234"
        for each in (repository, other):
            with pytest.raises(Refused, match="was used already"):
                await links.link(each, "main", "a/b", given.token, actor=ANN)
        await place.store.put(given.address, b"abcd")
        with pytest.raises(Corrupt):
            await repository.reader.read_all(entry)
        await repository.close()

    run(play())


def test_of_two_links_at_once_one_is_refused() -> None:
    async def play() -> None:
        place = Place()
        repository = await place.opened()
        given = await links.physical_address(repository, "main", "a", actor=ANN)
        await place.store.put(given.address, b"1234")
        answers = await asyncio.gather(
            *(links.link(repository, "main", "a", given.token, actor=ANN) for _ in range(4)), return_exceptions=True
        )
        refused = [answer for answer in answers if isinstance(answer, LochanError)]
        assert len(refused) == 3
        assert all(isinstance(each, Refused) for each in refused)
        await repository.close()

    run(play())


def test_the_address_is_held_open_until_it_is_linked() -> None:
    async def play() -> None:
        place = Place()
        repository = await place.opened()
        given = await links.physical_address(repository, "main", "a", actor=ANN)
        refs, _ = await (await place.again()).refs()
        [(_, held)] = refs.collection.all_held()
        assert (held.kind, held.address, held.branch, held.path) == ("link", given.address, "main", "a")
        await place.store.put(given.address, b"")
        await links.link(repository, "main", "a", given.token, actor=ANN)
        refs, _ = await (await place.again()).refs()
        assert refs.collection.all_held() == []
        await repository.close()

    run(play())


def test_a_token_is_good_for_one_thing_only() -> None:
    async def play() -> None:
        place = Place()
        repository = await place.opened()
        await create_branch(repository, "dev", "main", actor=ANN)
        given = await links.physical_address(repository, "main", "a", actor=ANN, expires_s=60)
        await place.store.put(given.address, b"1234")
        for branch, path, token, message in (
            ("dev", "a", given.token, "for the branch 'main'"),
            ("main", "b", given.token, "for the path 'a'"),
            ("main", "a", given.token[:-2] + "xx", "was changed"),
            ("main", "a", "nonsense", "not one of ours"),
        ):
            with pytest.raises(Refused, match=message):
                await links.link(repository, branch, path, token, actor=ANN)
        place.clock.now += 61
        with pytest.raises(Refused, match="has expired"):
            await links.link(repository, "main", "a", given.token, actor=ANN)
        with pytest.raises(NotFound, match="no branch 'none'"):
            await links.physical_address(repository, "none", "a", actor=ANN)
        await repository.close()

    run(play())


@pytest.mark.parametrize(
    "declared, error",
    [
        (LinkOptions(3), Invalid),
        (LinkOptions(4, "0" * 32), BadDigest),
        (LinkOptions(None, hashlib.md5(b"123").hexdigest()), BadDigest),
        (LinkOptions(4, hashlib.md5(b"1234").hexdigest().upper()), None),
    ],
)
def test_what_is_declared_must_be_true(declared: LinkOptions, error: type[Exception] | None) -> None:
    async def play() -> None:
        place = Place()
        repository = await place.opened()
        given = await links.physical_address(repository, "main", "a", actor=ANN)
        await place.store.put(given.address, b"1234")
        if error is not None:
            with pytest.raises(error):
                await links.link(repository, "main", "a", given.token, actor=ANN, declared=declared)
            declared_right = LinkOptions(4)  # the token is still good
            await links.link(repository, "main", "a", given.token, actor=ANN, declared=declared_right)
        else:
            await links.link(repository, "main", "a", given.token, actor=ANN, declared=declared)
        assert [entry.path for entry in (await objects.list_objects(repository, "main")).entries] == ["a"]
        await repository.close()

    run(play())


def test_many_processes_make_one_key() -> None:
    async def play() -> None:
        store, clock = MemoryStore(), StillClock()
        keys = await asyncio.gather(*(token_key.TokenKey(store, clock, Ids()).get() for _ in range(8)))
        assert len(set(keys)) == 1
        assert keys[0] == key_file.decode(await store.get(token_key.PATH), "")
        assert len(keys[0]) == 32

    run(play())


def test_a_file_outside_is_linked_where_it_lies() -> None:
    async def play() -> None:
        place = Place()
        await place.others["s3://data"].put("x", b"1234")
        repository = await place.opened()
        entry = await links.stage(repository, "main", "a", "s3://data/x", actor=ANN, options=CopyChanges("text/csv"))
        assert (entry.blocks[0].address, entry.content_type) == ("s3://data/x", "text/csv")
        assert await repository.reader.read_all(await objects.stat(repository, "main", "a")) == b"1234"
        await place.others["s3://data"].put("x", b"abcd")
        with pytest.raises(Conflict, match="has changed since"):
            await repository.reader.read_all(entry)
        with pytest.raises(NotFound):
            await links.stage(repository, "main", "a", "s3://data/none", actor=ANN)
        with pytest.raises(Invalid, match="names no file"):
            await links.stage(repository, "main", "a", "s3://data", actor=ANN)
        await repository.close()

    run(play())


def test_an_address_in_the_lake_is_linked_by_its_token_only() -> None:
    async def play() -> None:
        place = Place()
        repository = await place.opened()
        entry = await objects.put(repository, "main", "a", once(b"x"), actor=ANN)
        address = entry.blocks[0].address
        place.others["memory://"] = place.store
        with pytest.raises(Refused, match="is in this lake"):
            await links.stage(repository, "main", "b", f"{place.store.url}/{address}", actor=ANN)
        with pytest.raises(Invalid, match="is not a URL"):
            await links.stage(repository, "main", "b", address, actor=ANN)
        place.others["s3://alias"] = place.store  # the same bucket by another name
        with pytest.raises(Refused, match=r"lake\.json is there"):
            await links.stage(repository, "main", "b", f"s3://alias/{address}", actor=ANN)
        await repository.close()

    run(play())
