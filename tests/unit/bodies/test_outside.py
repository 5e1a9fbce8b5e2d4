"""Files outside the lake: imported, linked, read, and found to be changed, gone, or part of a lake."""

import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lochan.errors import Conflict, Gone, Invalid, NotFound, Refused
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import entries_of
from lochan.store.capabilities import Wrapper
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.memory import MemoryStore
from lochan.store.open import open_store
from lochan.store.protocol import Stat, Store
from lochan.versioning.bodies.listed_files import as_entries
from lochan.versioning.bodies.outside_files import OutsideFiles
from lochan.versioning.bodies.read import BodyReader
from tests.run import run
from tests.store_contract import joined
from tests.unit.store.clocks import StillClock

MD5 = hashlib.md5(b"1234").hexdigest()


class Bucket(Wrapper):
    """A store in memory that gives ETags as S3 does, and can show markers of folders as obstore shows them."""

    def __init__(self) -> None:
        super().__init__(MemoryStore(clock=StillClock()))
        self.etags: dict[str, str] = {}
        self.opened: list[str] = []
        self.markers: set[str] = set()

    async def head(self, path: str) -> Stat:
        if path in self.markers:
            raise NotFound(path)
        stat = await self.inner.head(path)
        return stat._replace(etag=self.etags.get(path, f'"{hashlib.md5(await self.inner.get(path)).hexdigest()}"'))

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        async for stat in self.inner.list(prefix, after):
            yield stat if stat.path in self.markers else await self.head(stat.path)

    def open(self, url: str) -> Store:
        self.opened.append(url)
        return self


def test_import_of_a_prefix() -> None:
    async def play() -> None:
        bucket = Bucket()
        for key in ("a/x", "a/é%41?#", "a/sub/y", "ab", "b/z"):
            await bucket.put(key, b"1234")
        bucket.etags["a/sub/y"] = '"0123456789abcdef0123456789abcdef-3"'
        for url in ("s3://data/a", "s3://data/a/"):
            batch = await _entries(OutsideFiles(bucket.open), url, "in/")
            assert [(entry.path, entry.blocks[0].address) for entry in batch] == [
                ("in/sub/y", "s3://data/a/sub/y"),
                ("in/x", "s3://data/a/x"),
                ("in/é%41?#", "s3://data/a/é%41?#"),
            ]
        assert batch[1] == Entry(
            path="in/x",
            blocks=(Block("s3://data/a/x", 0, 4, b""),),
            size=4,
            checksum=MD5,
            etag=MD5,
            mtime=1_700_000_000_000_000,
        )
        assert (batch[0].checksum, batch[0].etag) == ("", "0123456789abcdef0123456789abcdef-3")
        outside = OutsideFiles(bucket.open)
        assert [await BodyReader(MemoryStore(), outside).read_all(entry) for entry in batch] == [b"1234"] * 3

    run(play())


@pytest.mark.thorough
def test_import_of_a_whole_bucket_in_batches() -> None:
    async def play() -> None:
        bucket = Bucket()
        for number in range(25_000):
            await bucket.put(f"{number:05d}", b"")
        place = await OutsideFiles(bucket.open).place("gs://data")
        tables = [table async for table in place.files("")]
        assert max(map(len, tables)) <= 10_000
        paths = sorted(path.as_py() for table in tables for path in table["path"])
        assert paths == [f"{each:05d}" for each in range(25_000)]
        assert bucket.opened == ["gs://data"]

    run(play())


def test_markers_of_folders_are_not_objects() -> None:
    async def play() -> None:
        bucket = Bucket()
        for key in ("a/folder", "a/folder/x", "a/empty"):
            await bucket.put(key, b"")
        bucket.markers.add("a/folder")
        batch = await _entries(OutsideFiles(bucket.open), "s3://data/a", "")
        assert [entry.path for entry in batch] == ["empty", "folder/x"]

    run(play())


def test_a_path_too_long_for_us_is_refused() -> None:
    bucket = Bucket()
    run(bucket.put("a/" + "x" * 500, b""))
    with pytest.raises(Invalid, match="too long"):
        run(_entries(OutsideFiles(bucket.open), "s3://data/a", "y" * 600))


def test_link_asks_for_the_file_once() -> None:
    async def play() -> None:
        bucket, counts = Bucket(), RequestCounts()
        await bucket.put("deep/in/x", b"1234")
        outside = OutsideFiles(lambda url: CountingStore(bucket, counts))
        entry = await outside.link("my/x", "s3://data/deep/in/x")
        assert (entry.path, entry.size, entry.checksum) == ("my/x", 4, MD5)
        assert entry.blocks == (Block("s3://data/deep/in/x", 0, 4, b""),)
        assert (counts.head.requests, counts.head.errors) == (4, 3)  # at each folder above it looks for a lake
        with pytest.raises(NotFound):
            await outside.link("my/x", "s3://data/nothing")
        with pytest.raises(Invalid, match="is not a URL"):
            await outside.link("my/x", "/data/x")
        with pytest.raises(Invalid, match="empty"):
            await outside.link("", "s3://data/deep/in/x")

    run(play())


@pytest.mark.parametrize("lake", ["lake.json", "a/lake.json", "a/lake/lake.json"])
@pytest.mark.parametrize("url", ["s3://data/a/lake", "s3://data/a/lake/repo/data"])
def test_a_lakes_own_files_are_refused(lake: str, url: str) -> None:
    async def play() -> None:
        bucket = Bucket()
        await bucket.put(lake, b"{}")
        await bucket.put("a/lake/repo/data/x", b"1234")
        outside = OutsideFiles(bucket.open)
        with pytest.raises(Refused, match=f"s3://data/{lake} is there.*copy the objects instead"):
            await _entries(outside, url, "")
        with pytest.raises(Refused, match=f"s3://data/{lake} is there"):
            await outside.link("x", "s3://data/a/lake/repo/data/x")

    run(play())


def test_a_lake_below_the_source_is_refused_when_it_is_met() -> None:
    bucket = Bucket()
    for path in ("a/0", "a/sub/0repo/data/x", "a/sub/lake.json"):
        run(bucket.put(path, b""))
    with pytest.raises(Refused, match=r"s3://data/a/sub/lake\.json is there"):
        run(_entries(OutsideFiles(bucket.open), "s3://data/a", ""))


def test_where_a_lake_cannot_be_looked_for_there_may_be_one() -> None:
    class Closed(Bucket):
        async def head(self, path: str) -> Stat:
            raise Refused("AccessDenied")

    with pytest.raises(Refused, match=r"could not be seen: AccessDenied .*look for s3://data/lake.json"):
        run(OutsideFiles(Closed().open).link("x", "s3://data/a/x"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "100% data"
    (made / "sub").mkdir(parents=True)
    (made / "x").write_bytes(b"1234")
    (made / "sub" / "y%41").write_bytes(b"56")
    return made


def test_import_of_a_folder(folder: Path) -> None:
    async def play() -> None:
        outside = OutsideFiles(open_store)
        url = f"file://{folder}".replace("%", "%25")
        batch = await _entries(outside, url, "in/")
        assert [entry.path for entry in batch] == ["in/sub/y%41", "in/x"]
        assert [entry.blocks[0].address for entry in batch] == [f"{url}/sub/y%2541", f"{url}/x"]
        assert batch[1].checksum == ""
        assert batch[1].mtime == pytest.approx((folder / "x").stat().st_mtime * 1e6, abs=2)
        reader = BodyReader(MemoryStore(), outside)
        assert [await reader.read_all(entry) for entry in batch] == [b"56", b"1234"]
        linked = await outside.link("l", f"{url}/sub/y%2541")
        assert await joined(reader.read(linked, 1)) == b"6"

    run(play())


def test_symbolic_links_lead_nowhere(folder: Path, tmp_path: Path) -> None:
    async def play() -> None:
        secret = tmp_path / "secret"
        secret.mkdir()
        (secret / "key").write_bytes(b"secret")
        (folder / "to-file").symlink_to(secret / "key")
        (folder / "to-folder").symlink_to(secret)
        (folder / "loop").symlink_to(folder)
        outside = OutsideFiles(open_store)
        batch = await _entries(outside, f"file://{folder}".replace("%", "%25"), "")
        assert [entry.path for entry in batch] == ["sub/y%41", "x"]
        (folder / "x").unlink()
        (folder / "x").symlink_to(secret / "key")
        with pytest.raises(Conflict, match="has changed"):
            await BodyReader(MemoryStore(), outside).read_all(batch[1])

    run(play())


def test_a_link_shows_where_it_leads(folder: Path, tmp_path: Path) -> None:
    """So that a check for allowed folders sees the real one."""
    (tmp_path / "shortcut").symlink_to(folder)
    entry = run(OutsideFiles(open_store).link("l", f"file://{tmp_path}/shortcut/x"))
    assert entry.blocks[0].address == f"file://{folder}/x".replace("%", "%25")


def test_a_lake_behind_a_symbolic_link_is_still_a_lake(folder: Path, tmp_path: Path) -> None:
    (folder / "lake.json").write_bytes(b"{}")
    (tmp_path / "shortcut").symlink_to(folder / "sub")
    for url in (f"file://{tmp_path}/shortcut", f"file://{tmp_path}/./shortcut/../sub"):
        with pytest.raises(Refused, match=r"lake.json is there"):
            run(_entries(OutsideFiles(open_store), url, ""))


def test_a_name_that_no_store_could_read_again_is_refused(folder: Path) -> None:
    (folder / "line\nbreak").write_bytes(b"")
    with pytest.raises(Invalid, match="cannot be stored"):
        run(_entries(OutsideFiles(open_store), f"file://{folder}".replace("%", "%25"), ""))


def test_a_file_that_changed_is_a_conflict(folder: Path) -> None:
    async def play() -> None:
        outside = OutsideFiles(open_store)
        file = folder / "x"
        entry = await outside.link("x", f"file://{folder}/x".replace("100%", "100%25"))
        reader = BodyReader(MemoryStore(), outside, piece_bytes=3)
        before = file.stat()
        assert await reader.read_all(entry) == b"1234"
        for data, why in ((b"123", "shorter|bytes"), (b"12345", "5 bytes instead of 4"), (b"abcd", "its ETag is")):
            file.write_bytes(data)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
            for call in (reader.read_all(entry), joined(reader.read(entry, 0, 2))):
                with pytest.raises(Conflict, match=rf"'x': file://.*x has changed since it was imported: .*({why})"):
                    await call
        file.unlink()
        with pytest.raises(Gone, match="is gone"):
            await reader.read_all(entry)

    run(play())


def test_a_file_that_changes_while_it_is_read() -> None:
    async def play() -> None:
        bucket = Bucket()
        await bucket.put("x", b"1234")
        outside = OutsideFiles(bucket.open)
        entry = await outside.link("x", "s3://data/x")
        pieces = BodyReader(MemoryStore(), outside, piece_bytes=2).read(entry)
        assert await anext(pieces) == b"12"
        await bucket.put("x", b"abcd")
        with pytest.raises(Conflict, match="its ETag is"):
            await anext(pieces)

    run(play())


def test_what_nobody_can_open(folder: Path) -> None:
    async def play() -> None:
        entry = Entry(path="a", blocks=(Block("s3://b/k", 0, 1, b""),), size=1, checksum="", etag="", mtime=0)
        with pytest.raises(Invalid, match="opened without access to other stores"):
            await BodyReader(MemoryStore()).read_all(entry)

    run(play())


async def _entries(outside: OutsideFiles, url: str, to: str) -> list[Entry]:
    place = await outside.place(url)
    tables = [place.addresses(to).located(table) async for table in place.files(to)]
    return [entry for table in tables for entry in entries_of(as_entries(table))]
