"""Multipart uploads: in any order, through any process, never visible by half, and completed once."""

import asyncio
import hashlib

import pytest

from lochan.errors import BadPart, BadPartOrder, KeyReused, NotFound, PartTooSmall, PreconditionFailed
from lochan.formats.entry import Entry
from lochan.versioning import objects, uploads
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uploads import PartRequest
from tests.run import run
from tests.unit.versioning.test_at_once import ANN, once, paths, two_servers

BIG = bytes(range(256)) * (5 << 12)  # 5 MiB


async def part(repository: OpenRepository, upload: str, number: int, data: bytes) -> PartRequest:
    made = await uploads.put_part(repository, upload, number, once(data), actor=ANN)
    assert made.etag == hashlib.md5(data).hexdigest()
    return PartRequest(number, made.etag)


async def body(repository: OpenRepository, ref: str, path: str) -> bytes:
    return await repository.reader.read_all(await objects.stat(repository, ref, path))


def test_parts_come_in_any_order_through_any_process() -> None:
    async def play() -> None:
        one, other = await two_servers()
        id = await uploads.open_upload(one, "main", "big", actor=ANN, content_type="x/y", metadata={"a": "b"})
        last = await part(other, id, 7, b"the end")
        await part(one, id, 2, b"to be replaced")
        first = await part(other, id, 2, BIG)
        assert await paths(one, "main") == [], "nothing is seen before it is completed"
        assert [each.id for each in await uploads.uploads(other)] == [id]
        entry = await uploads.complete(other, id, [first, last], actor=ANN)
        assert await body(one, "main", "big") == BIG + b"the end"
        digests = hashlib.md5(BIG).digest() + hashlib.md5(b"the end").digest()
        assert entry.etag == f"{hashlib.md5(digests).hexdigest()}-2"
        assert (entry.content_type, entry.metadata, entry.parts) == ("x/y", {"a": "b"}, (len(BIG), 7))
        assert await uploads.uploads(one) == []

    run(play())


def test_no_byte_is_written_again() -> None:
    async def play() -> None:
        one, _ = await two_servers()
        id = await uploads.open_upload(one, "main", "big", actor=ANN)
        parts = [await part(one, id, 1, BIG), await part(one, id, 2, BIG)]
        before = [stat async for stat in one.store.list(f"{one.repository.id}/data/")]
        await uploads.complete(one, id, parts, actor=ANN)
        assert [stat async for stat in one.store.list(f"{one.repository.id}/data/")] == before

    run(play())


def test_a_repeated_request_gets_the_same_answer() -> None:
    async def play() -> None:
        one, other = await two_servers()
        id = await uploads.open_upload(one, "main", "big", actor=ANN)
        parts = [await part(one, id, 1, b"x")]
        entry = await uploads.complete(one, id, parts, actor=ANN)
        await objects.put(one, "main", "big", once(b"later"), actor=ANN)
        again = await uploads.complete(other, id, parts, actor=ANN)
        assert again.etag == entry.etag
        assert await body(one, "main", "big") == b"later", "what came later stays"
        with pytest.raises(KeyReused):
            await uploads.complete(other, id, [PartRequest(1, "0" * 32)], actor=ANN)

    run(play())


def test_of_two_at_once_one_lands_and_both_are_answered() -> None:
    async def play() -> None:
        one, other = await two_servers()
        id = await uploads.open_upload(one, "main", "big", actor=ANN)
        parts = [await part(one, id, 1, b"x")]
        await other.refs()
        done = await asyncio.gather(*(uploads.complete(each, id, parts, actor=ANN) for each in (one, other, one)))
        assert len({entry.etag for entry in done}) == 1
        assert await paths(one, "main") == ["big"]

    run(play())


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ([], BadPart),
        ([(3, "small")], BadPart),
        ([(1, "other")], BadPart),
        ([(2, "big"), (1, "big")], BadPartOrder),
        ([(1, "big"), (1, "big")], BadPartOrder),
        ([(4, "small"), (5, "small")], PartTooSmall),
    ],
)
def test_what_cannot_be_completed(parts: list[tuple[int, str]], kind: type[Exception]) -> None:
    async def play() -> None:
        one, _ = await two_servers()
        id = await uploads.open_upload(one, "main", "big", actor=ANN)
        for number, data in ((1, BIG), (2, BIG), (4, b"small"), (5, b"small")):
            await part(one, id, number, data)
        etags = {"big": hashlib.md5(BIG).hexdigest(), "small": hashlib.md5(b"small").hexdigest(), "other": "0" * 32}
        with pytest.raises(kind):
            await uploads.complete(one, id, [PartRequest(number, etags[which]) for number, which in parts], actor=ANN)
        assert await paths(one, "main") == []
        assert len(await uploads.uploads(one)) == 1, "it can still be completed"

    run(play())


def test_an_aborted_upload_is_gone() -> None:
    async def play() -> None:
        one, other = await two_servers()
        id = await uploads.open_upload(one, "main", "big", actor=ANN)
        parts = [await part(one, id, 1, b"x")]
        await uploads.abort(other, id, actor=ANN)
        for again in (
            uploads.complete(one, id, parts, actor=ANN),
            uploads.abort(one, id, actor=ANN),
            uploads.put_part(one, id, 2, once(b"y"), actor=ANN),
        ):
            with pytest.raises(NotFound):
                await again

    run(play())


def test_a_condition_is_tested_when_it_lands() -> None:
    def nothing_there(entry: Entry | None) -> None:
        if entry is not None:
            raise PreconditionFailed("there is one")

    async def play() -> None:
        one, other = await two_servers()
        ids = [await uploads.open_upload(one, "main", "big", actor=ANN) for _ in range(4)]
        parts = [[await part(one, id, 1, id.encode())] for id in ids]
        done = await asyncio.gather(
            *(
                uploads.complete((one, other)[n % 2], id, parts[n], actor=ANN, check=nothing_there)
                for n, id in enumerate(ids)
            ),
            return_exceptions=True,
        )
        assert sum(isinstance(each, Entry) for each in done) == 1
        assert sum(isinstance(each, PreconditionFailed) for each in done) == 3
        assert len(await uploads.uploads(one)) == 3

    run(play())


def test_a_part_copied_from_an_object_is_a_reference() -> None:
    async def play() -> None:
        one, other = await two_servers()
        entry = await objects.put(one, "main", "source", once(b"0123456789"), actor=ANN)
        id = await uploads.open_upload(one, "main", "copy", actor=ANN)
        etag = hashlib.md5(b"3456").hexdigest()
        _, read_at = await one.refs()
        made = await uploads.copy_part(one, id, 1, entry, 3, 7, etag, read_at=read_at, actor=ANN)
        await uploads.complete(other, id, [PartRequest(1, made.etag)], actor=ANN)
        copied = await objects.stat(other, "main", "copy")
        assert {block.address for block in copied.blocks} == {block.address for block in entry.blocks}
        assert await body(other, "main", "copy") == b"3456"

    run(play())
