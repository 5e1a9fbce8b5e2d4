"""Imports from inventories: what is listed is imported without listing it, and a list that is not true is refused."""

import gzip
import hashlib
import io
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from lochan.errors import Invalid, LochanError, NotFound, Refused
from lochan.lake import Lake, LakeOptions
from lochan.store.memory import MemoryStore
from lochan.versioning.heads.imports import ImportFolder, bring_in, for_import, for_ingest
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.unit.versioning.test_import import ANN, Buckets, there

KEYS = ("in/a b.csv", "in/pl+us.csv", "in/sub/é.csv", "in/x.csv", "other/y.csv")
COLUMNS = ("Bucket", "Key", "VersionId", "IsLatest", "IsDeleteMarker", "Size", "LastModifiedDate", "ETag")


async def filled() -> Buckets:
    buckets = Buckets()
    for key in KEYS:
        await buckets.put(f"s3://data/{key}", key.encode())
    return buckets


async def rows(buckets: Buckets) -> list[dict[str, Any]]:
    """What an inventory of all versions says of the bucket."""
    found = []
    async for stat in buckets.open("s3://data").list():
        etag = stat.etag.strip('"')
        found.append(
            dict(
                zip(
                    COLUMNS,
                    ("data", stat.path, "v2", True, False, stat.size, "2026-11-17T01:02:03.000Z", etag),
                    strict=True,
                )
            )
        )
        found.append({**found[-1], "VersionId": "v1", "IsLatest": False, "Size": 1, "ETag": "old"})
    found.append({**found[0], "Key": "in/gone.csv", "IsDeleteMarker": True, "Size": None, "ETag": None})
    found.append({**found[0], "Key": "in/folder/", "Size": 0})
    return found


def as_csv(found: list[dict[str, Any]]) -> bytes:
    lines = []
    for row in found:
        values = {**row, "Key": quote(row["Key"], safe="/").replace("%20", "+")}
        texts = (
            ""
            if values[name] is None
            else str(values[name]).lower()
            if values[name] in (True, False)
            else str(values[name])
            for name in COLUMNS
        )
        lines.append(",".join(f'"{text}"' for text in texts) + "\n")
    return gzip.compress("".join(lines).encode())


SNAKE = {
    "LastModifiedDate": "last_modified_date",
    "ETag": "e_tag",
    "VersionId": "version_id",
    "IsLatest": "is_latest",
    "IsDeleteMarker": "is_delete_marker",
}


def as_table(found: list[dict[str, Any]]) -> pa.Table:
    columns: dict[str, Any] = {SNAKE.get(name, name.lower()): [row[name] for row in found] for name in COLUMNS}
    moments = pa.array([1_763_341_323_000] * len(found), pa.timestamp("ms"))
    return pa.table({**columns, "last_modified_date": moments})


def as_parquet(found: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(as_table(found), sink)
    return sink.getvalue()


def as_orc(found: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    orc.write_table(as_table(found), sink)
    return sink.getvalue()


async def publish(buckets: Buckets, format: str, parts: list[bytes], **other: Any) -> str:
    """As S3 does. Returns the URL of the manifest."""
    files = []
    for number, part in enumerate(parts):
        key = f"inventory/data/all/data/{number}.part"
        await buckets.put(f"s3://lists/{key}", part)
        files.append({"key": key, "size": len(part), "MD5checksum": hashlib.md5(part).hexdigest()})
    manifest = {
        "sourceBucket": "data",
        "destinationBucket": "arn:aws:s3:::lists",
        "version": "2016-11-30",
        "creationTimestamp": "1763341323000",
        "fileFormat": format,
        "fileSchema": ", ".join(COLUMNS),
        "files": files,
        **other,
    }
    data = json.dumps(manifest).encode()
    folder = "s3://lists/inventory/data/all/2026-11-17T01-00Z"
    await buckets.put(f"{folder}/manifest.json", data)
    await buckets.put(f"{folder}/manifest.checksum", hashlib.md5(data).hexdigest().encode())
    return f"{folder}/manifest.json"


async def opened(buckets: Buckets, may_name: Callable[[str], bool] | None = None) -> OpenRepository:
    lake = await Lake.create(MemoryStore(), world=LakeOptions(buckets.open, may_name))
    await lake.create_repository("demo-repo", actor=ANN)
    return await lake.open_repository("demo-repo")


@pytest.mark.parametrize(("format", "write"), [("CSV", as_csv), ("Parquet", as_parquet), ("ORC", as_orc)])
def test_an_inventory_says_what_a_listing_says(format: str, write: Callable[[list[dict[str, Any]]], bytes]) -> None:
    async def play() -> None:
        buckets = await filled()
        found = await rows(buckets)
        manifest = await publish(buckets, format, [write(found[5:]), write(found[:5])])
        repository = await opened(buckets)
        listed = await for_import(repository, [ImportFolder("s3://data/in", "to/")])
        plan = await for_import(repository, [ImportFolder("s3://data/in/", "to/", manifest, verify=True)])
        landed = await bring_in(repository, "main", plan, actor=ANN)
        assert landed.counts.added == 4
        assert await there(repository) == {
            "to/a b.csv": b"in/a b.csv",
            "to/pl+us.csv": b"in/pl+us.csv",
            "to/sub/é.csv": "in/sub/é.csv".encode(),
            "to/x.csv": b"in/x.csv",
        }
        with pytest.raises(LochanError, match="has all of it already"):
            await bring_in(repository, "main", listed, actor=ANN)
        await repository.close()

    run(play())


def plain_csv(found: list[tuple[str, int, str]], column: str = "url") -> bytes:
    return f"{column},size,etag,mtime\n".encode() + b"".join(
        f"{u},{s},{e},2026-11-17T01:02:03Z\n".encode() for u, s, e in found
    )


def plain_ndjson(found: list[tuple[str, int, str]], column: str = "url") -> bytes:
    return b"".join(json.dumps({column: u, "size": s, "etag": e, "mtime": 5}).encode() + b"\n" for u, s, e in found)


def plain_parquet(found: list[tuple[str, int, str]], column: str = "url") -> bytes:
    sink = io.BytesIO()
    urls, sizes, etags = zip(*found, strict=True)
    pq.write_table(pa.table({column: urls, "size": sizes, "etag": etags, "mtime": [5] * len(found)}), sink)
    return sink.getvalue()


async def plain_rows(buckets: Buckets, column: str = "url") -> list[tuple[str, int, str]]:
    start = "s3://data/" if column == "url" else ""
    prefix = "" if column == "url" else "in/"
    return [
        (start + stat.path.removeprefix(prefix), stat.size, stat.etag.strip('"'))
        async for stat in buckets.open("s3://data").list("in/")
    ]


@pytest.mark.parametrize("column", ["url", "path"])
@pytest.mark.parametrize("name", ["list.csv", "list.csv.gz", "list.ndjson", "list.ndjson.gz", "list.parquet"])
def test_a_plain_list_is_an_inventory_too(name: str, column: str) -> None:
    async def play() -> None:
        buckets = await filled()
        write = plain_csv if ".csv" in name else plain_ndjson if "json" in name else plain_parquet
        data = write(await plain_rows(buckets, column), column)
        await buckets.put(f"s3://lists/{name}", gzip.compress(data) if name.endswith(".gz") else data)
        repository = await opened(buckets)
        plan = await for_ingest(repository, ImportFolder("s3://data/in", "to/", f"s3://lists/{name}", verify=True))
        await bring_in(repository, "main", plan, actor=ANN)
        assert len(await there(repository)) == 4
        await repository.close()

    run(play())


def test_a_second_inventory_brings_the_difference() -> None:
    async def play() -> None:
        buckets = await filled()
        repository = await opened(buckets)
        for change, expected in ((None, (4, 0, 0)), ("new", (1, 1, 1))):
            if change:
                await buckets.put("s3://data/in/new.csv", b"new")
                await buckets.put("s3://data/in/x.csv", b"other")
                await buckets.delete("s3://data/in/a b.csv")
            await buckets.put("s3://lists/l.csv", plain_csv(await plain_rows(buckets)))
            plan = await for_ingest(repository, ImportFolder("s3://data/in", "to/", "s3://lists/l.csv"))
            counts = (await bring_in(repository, "main", plan, actor=ANN)).counts
            assert counts[:3] == expected
        await repository.close()

    run(play())


async def refused(
    buckets: Buckets, inventory: str, match: str, kind: type[LochanError] = Invalid, verify: bool = False
) -> None:
    repository = await opened(buckets)
    before = (await repository.refs())[0].branch("main").head
    with pytest.raises(kind, match=match):
        plan = await for_import(repository, [ImportFolder("s3://data/in", "to/", inventory, verify)])
        await bring_in(repository, "main", plan, actor=ANN)
    assert (await repository.refs())[0].branch("main").head == before
    await repository.close()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        pytest.param({"size": 99}, "lists s3://data/in/x.csv with 99 bytes", id="a wrong size"),
        pytest.param({"etag": "f" * 32}, "and the ETag f+; it has", id="a wrong ETag"),
        pytest.param(
            {"url": "s3://data/in/nowhere"}, "lists s3://data/in/nowhere, which is not there", id="a missing file"
        ),
        pytest.param(
            {"url": "s3://else/in/x.csv"}, "files of another place, such as 's3://else/in/x.csv'", id="another bucket"
        ),
        pytest.param(
            {"url": "s3://data/in/a b.csv"}, "two files would become the object 'to/a b.csv'", id="a key twice"
        ),
        pytest.param({"size": -1}, "without a size", id="a negative size"),
        pytest.param({"size": "many"}, "no whole number", id="a size in words"),
        pytest.param({"etag": ""}, "without an ETag", id="no ETag"),
        pytest.param({"url": "s3://data/in/../x"}, "cannot be stored", id="a path that leads out"),
        pytest.param({"url": "s3://data/in/y/lake.json"}, "files of a lake", id="a lake"),
        pytest.param({"mtime": "soon"}, "'soon' is no time", id="a time in words"),
    ],
)
def test_an_inventory_that_lies_is_refused_by_name(change: dict[str, Any], match: str) -> None:
    async def play() -> None:
        buckets = await filled()
        names = ("url", "size", "etag")
        lines = [
            dict(zip(names, row, strict=True)) | {"mtime": "2026-11-17T01:02:03Z"} for row in await plain_rows(buckets)
        ]
        lines[-1] |= change
        text = "url,size,etag,mtime\n" + "".join(",".join(str(v) for v in line.values()) + "\n" for line in lines)
        await buckets.put("s3://lists/l.csv", text.encode())
        await refused(buckets, "s3://lists/l.csv", match, Refused if "lake" in match else Invalid)

    run(play())


@pytest.mark.parametrize(
    ("name", "data", "match"),
    [
        pytest.param(
            "l.csv.gz", gzip.compress(b"url,size,etag,mtime\n" * 9_000)[:-9], "cannot be read", id="truncated gzip"
        ),
        pytest.param("l.parquet", b"PAR1 and nothing", "cannot be read", id="truncated Parquet"),
        pytest.param(
            "l.ndjson", b'{"url": "s3://data/in/x.csv", "size": 1, "et', "cannot be read", id="truncated NDJSON"
        ),
        pytest.param("l.csv", b"url,size,etag,mtime\ns3://data/in/\xff,1,e,\n", "cannot be read", id="not UTF-8"),
        pytest.param("l.csv", b"name,bytes\nx,1\n", "lacks a column: it has name, bytes", id="other columns"),
        pytest.param("l.txt", b"x", "no inventory that is known", id="no known format"),
        pytest.param("manifest.json", b"{}", "no manifest of an S3 Inventory", id="no manifest"),
    ],
)
def test_a_file_that_is_no_inventory_is_refused(name: str, data: bytes, match: str) -> None:
    async def play() -> None:
        buckets = await filled()
        await buckets.put(f"s3://lists/{name}", data)
        await refused(buckets, f"s3://lists/{name}", match)

    run(play())


def test_the_parts_of_a_manifest_are_checked() -> None:
    async def play() -> None:
        buckets = await filled()
        part = as_csv(await rows(buckets))
        manifest = await publish(buckets, "CSV", [part])
        await buckets.put("s3://lists/inventory/data/all/data/0.part", part[:-1] + b"x")
        await refused(buckets, manifest, "does not have the MD5 that its manifest states")
        await buckets.put("s3://lists/inventory/data/all/data/0.part", part[:-1])
        await refused(buckets, manifest, f"has {len(part) - 1} bytes, its manifest says {len(part)}")
        await buckets.delete("s3://lists/inventory/data/all/data/0.part")
        await refused(buckets, manifest, "part s3://lists/.*/0.part is missing", NotFound)
        other = await publish(buckets, "CSV", [part], sourceBucket="else")
        await refused(buckets, other, "an inventory of the bucket 'else', not of s3://data")
        await buckets.put(manifest.replace(".json", ".checksum"), b"0" * 32)
        await refused(buckets, manifest, "does not have the MD5 that manifest.checksum states")

    run(play())


def test_all_files_are_asked_for_only_on_request() -> None:
    """A sample need not find one wrong size of many; with verify it is found."""

    async def play() -> None:
        buckets = Buckets()
        for number in range(1_000):
            await buckets.put(f"s3://data/in/{number:04d}", b"x")
        lines = await plain_rows(buckets)
        lines[501] = (lines[501][0], 5, lines[501][2])
        await buckets.put("s3://lists/l.csv", plain_csv(lines))
        repository = await opened(buckets)
        assert (
            await for_import(repository, [ImportFolder("s3://data/in", "to/", "s3://lists/l.csv")])
        ).files.count == 1_000
        await refused(buckets, "s3://lists/l.csv", "in/0501 with 5 bytes", verify=True)
        await repository.close()

    run(play())


def test_a_server_names_the_places_of_inventories_too() -> None:
    async def play() -> None:
        buckets = await filled()
        await buckets.put("s3://lists/l.csv", plain_csv(await plain_rows(buckets)))
        repository = await opened(buckets, lambda url: url.startswith("s3://data/"))
        with pytest.raises(Refused, match="not a place that may be imported from"):
            await for_import(repository, [ImportFolder("s3://data/in", "to/", "s3://lists/l.csv")])
        await repository.close()

    run(play())
