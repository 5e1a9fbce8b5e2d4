"""Bodies on a real S3 server: blocks, tags as another client reads them, imports of another client's objects."""

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from itertools import count

import pytest
from msgspec.structs import replace

from lochan.clock import SystemClock
from lochan.errors import Conflict, Gone, NotFound, Refused
from lochan.formats.entry import Entry
from lochan.formats.entry_table import entries_of
from lochan.ids import Ids
from lochan.store.open import open_store, stack
from lochan.store.protocol import Store
from lochan.versioning.bodies.body import ready
from lochan.versioning.bodies.listed_files import as_entries
from lochan.versioning.bodies.outside_files import OutsideFiles
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.bodies.write import BLOCK_BYTES, Bodies
from tests.run import run
from tests.servers.minio import MinioServer
from tests.store_contract import MIB, digested, joined, paths

_prefixes = count()


@pytest.fixture
def place(minio_server: MinioServer) -> str:
    return f"{minio_server.bucket('bodies')}/lake {next(_prefixes)}"


def test_80_mb_in_two_blocks(minio_server: MinioServer, place: str) -> None:
    async def play() -> None:
        store = _lake(minio_server, place)
        md5, sha256 = hashlib.md5(), hashlib.sha256()
        for number in range(80):
            md5.update(bytes([number]) * 1_000_000)
            sha256.update(bytes([number]) * 1_000_000)
        entry = await _bodies(store).write("big", _megabytes(80), mint=1, expected_md5=md5.hexdigest())
        assert [block.size for block in entry.blocks] == [BLOCK_BYTES, 80_000_000 - BLOCK_BYTES]
        assert sorted(block.address for block in entry.blocks) == await paths(store)
        reader = BodyReader(store)
        assert await digested(reader.read(entry)) == sha256.hexdigest()
        over_the_cut = await joined(reader.read(entry, BLOCK_BYTES - 5, BLOCK_BYTES + 5))
        assert over_the_cut == b"\x43" * 10
        await store.delete(entry.blocks[1].address)
        assert len(await joined(reader.read(entry, 0, MIB))) == MIB
        with pytest.raises(Gone, match="'big': block 2 of 2"):
            await joined(reader.read(entry))

    run(play())


def test_small_bodies_and_packs(minio_server: MinioServer, place: str) -> None:
    async def play() -> None:
        store = _lake(minio_server, place)
        made, reader = _bodies(store), BodyReader(store)
        entries = [await made.write("e", _megabytes(0), mint=1), await made.write("m", _megabytes(9), mint=1)]
        entries += await made.write_pack([ready("a", b"1"), ready("b", b""), ready("c", b"33")], mint=1)
        assert [len(await reader.read_all(entry)) for entry in entries] == [0, 9_000_000, 1, 0, 2]
        assert len(await paths(store)) == 3

    run(play())


@pytest.mark.parametrize(
    "path", ["../../out", "a//b/", "e\u0301\n\t\x7f", ".", "100%/🦆/%2e%2e", "x" * 1024, "a/" * 512]
)
def test_any_path_in_an_address(minio_server: MinioServer, place: str, path: str) -> None:
    async def play() -> None:
        store = _lake(minio_server, place)
        entry = await _bodies(store, style="path").write(path, _megabytes(1), mint=1)
        assert [entry.blocks[0].address] == await paths(store, "repo/data/")
        assert len(await BodyReader(store).read_all(entry)) == 1_000_000

    run(play())


def test_tags_as_others_read_them(minio_server: MinioServer, place: str) -> None:
    written = {
        "foo/bar/baz.parquet": {"path.0": "foo", "path.1": "bar", "path.2": "baz.parquet"},
        "day=1//é & <x>": {"path.0": "day=1", "path.1": "", "path.2": "/C3/A9 /26 /3Cx/3E"},
        "a/b/c/d/e/f/g/h/i/j/k/l": {f"path.{number}": letter for number, letter in enumerate("abcdefghij")},
        "x" * 300: {"path.0": "x" * 255 + "/"},
        " lead and trail /+-.:=_": {"path.0": " lead and trail ", "path.1": "+-.:=_"},
    }

    async def play() -> list[Entry]:
        store = _lake(minio_server, place)
        made = _bodies(store, tag_paths=True)
        entries = [await made.write(path, _megabytes(1), mint=1) for path in written]
        entries.append(await made.write("large/body", _megabytes(20), mint=1))
        return entries + await made.write_pack([ready("in/pack", b"1")], mint=1)

    expected = list(written.values())
    expected += [{"path.0": "large", "path.1": "body"}, {"path.0": "in", "path.1": "pack"}]
    entries = run(play())
    bucket, _, prefix = place.partition("/")
    with closing(minio_server.boto3()) as client:
        for entry, tags in zip(entries, expected, strict=True):
            answer = client.get_object_tagging(Bucket=bucket, Key=f"{prefix}/{entry.blocks[0].address}")
            assert {tag["Key"]: tag["Value"] for tag in answer["TagSet"]} == tags


def test_import_of_what_another_client_wrote(minio_server: MinioServer) -> None:
    bucket = minio_server.bucket("imported")
    with closing(minio_server.boto3()) as client:
        for key, body in {"d/x": b"1234", "d/sub/y y+%41": b"56", "d/sub/": b"", "d/sub-z": b"", "other": b""}.items():
            client.put_object(Bucket=bucket, Key=key, Body=body)
        upload = client.create_multipart_upload(Bucket=bucket, Key="d/parts")["UploadId"]
        part = client.upload_part(Bucket=bucket, Key="d/parts", PartNumber=1, UploadId=upload, Body=bytes(9 * MIB))
        parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
        client.complete_multipart_upload(Bucket=bucket, Key="d/parts", UploadId=upload, MultipartUpload=parts)

        async def play() -> None:
            outside = OutsideFiles(_opener(minio_server))
            place = await outside.place(f"s3://{bucket}/d")
            tables = [place.addresses("in/").located(table) async for table in place.files("in/")]
            found = {entry.path: entry for table in tables for entry in entries_of(as_entries(table))}
            assert sorted(found) == ["in/parts", "in/sub-z", "in/sub/y y+%41", "in/x"]
            assert found["in/x"].checksum == found["in/x"].etag == hashlib.md5(b"1234").hexdigest()
            assert (found["in/parts"].checksum, found["in/parts"].etag[-2:]) == ("", "-1")
            reader = BodyReader(_lake(minio_server, f"{bucket}/unused"), outside)
            assert await reader.read_all(found["in/x"]) == b"1234"
            assert await reader.read_all(found["in/sub/y y+%41"]) == b"56"
            assert await joined(reader.read(found["in/parts"], 9 * MIB - 2)) == b"\0\0"
            linked = await outside.link("in/x", f"s3://{bucket}/d/x")
            assert replace(linked, mtime=0) == replace(found["in/x"], mtime=0)  # S3 tells seconds here, more there
            client.put_object(Bucket=bucket, Key="d/x", Body=b"abcd")
            with pytest.raises(Conflict, match=r"s3://imported/d/x has changed since it was imported: its ETag"):
                await reader.read_all(found["in/x"])
            client.delete_object(Bucket=bucket, Key="d/x")
            with pytest.raises(Gone, match="'in/x': block 1 of 1, at s3://imported/d/x, is gone"):
                await reader.read_all(found["in/x"])
            with pytest.raises(NotFound):
                await outside.link("in/x", f"s3://{bucket}/d/x")

        run(play())


def test_the_lake_itself_cannot_be_a_source(minio_server: MinioServer, place: str) -> None:
    async def play() -> None:
        store = _lake(minio_server, place)
        await store.put("lake.json", b"{}")
        entry = await _bodies(store).write("a", _megabytes(1), mint=1)
        outside = OutsideFiles(_opener(minio_server))
        with pytest.raises(Refused, match=r"lake\.json is there"):
            await outside.link("b", f"s3://{place}/{entry.blocks[0].address}")
        with pytest.raises(Refused, match=r"lake\.json is there"):
            await outside.place(f"s3://{place}/repo/data")

    run(play())


async def _megabytes(number: int) -> AsyncIterator[bytes]:
    for each in range(number):
        yield bytes([each]) * 1_000_000


def _lake(server: MinioServer, place: str) -> Store:
    store = open_store(f"s3://{place}", server.options)
    return stack(store, clock=SystemClock(), ids=Ids(), immutable=lambda path: True)


def _bodies(store: Store, *, style: str = "id", tag_paths: bool = False) -> Bodies:
    return Bodies(
        store,
        prefix="repo",
        clock=SystemClock(),
        ids=Ids(),
        writer="w",
        address_style=style,  # type: ignore[arg-type]
        tag_paths=tag_paths,
    )


def _opener(server: MinioServer) -> Callable[[str], Store]:
    return lambda url: open_store(url, server.options)
