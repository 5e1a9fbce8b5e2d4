"""Imports and ingests: one commit, no byte moved, nothing staged, and nobody's uncommitted work hidden."""

import asyncio
from collections.abc import AsyncIterator

import pyarrow as pa
import pytest

from lochan.errors import Gone, Invalid, NotFound, NothingToDo, PathsInTheWay, Refused
from lochan.formats.record import Actor
from lochan.lake import Lake, LakeOptions
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.versioning import objects
from lochan.versioning.bodies import file_list, outside_files
from lochan.versioning.heads import imports as import_
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.heads.imports import ImportCounts, ImportFolder, ImportPlan, bring_in, for_import, for_ingest
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.diff import staged_changes
from tests.run import run

ANN = Actor("ann", "test", "here")


class Buckets:
    """Stores by their URL, as if they were elsewhere."""

    def __init__(self) -> None:
        self.stores: dict[str, MemoryStore] = {}

    def open(self, url: str) -> Store:
        return self.stores.setdefault(url, MemoryStore())

    async def put(self, url: str, data: bytes = b"") -> None:
        scheme, _, rest = url.partition("://")
        bucket, _, key = rest.partition("/")
        await self.open(f"{scheme}://{bucket}").put(key, data or url.encode())

    async def delete(self, url: str) -> None:
        scheme, _, rest = url.partition("://")
        bucket, _, key = rest.partition("/")
        await self.open(f"{scheme}://{bucket}").delete(key)


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def opened(buckets: Buckets, may_name: object = None) -> OpenRepository:
    lake = await Lake.create(MemoryStore(), world=LakeOptions(buckets.open, may_name))  # type: ignore[arg-type]
    await lake.create_repository("demo-repo", actor=ANN)
    return await lake.open_repository("demo-repo")


async def there(repository: OpenRepository, ref: str = "main@") -> dict[str, bytes]:
    found = (await objects.list_objects(repository, ref)).entries
    return {entry.path: await repository.reader.read_all(entry) for entry in found}


async def imported(repository: OpenRepository, *sources: ImportFolder) -> import_.ImportOutcome:
    return await bring_in(repository, "main", await for_import(repository, sources), actor=ANN)


async def ingested(repository: OpenRepository, url: str, to: str, keep_removed: bool = False) -> import_.ImportOutcome:
    gathered = await for_ingest(repository, ImportFolder(url, to), keep_removed=keep_removed)
    return await bring_in(repository, "main", gathered, CommitMessage("i"), actor=ANN)


async def log(repository: OpenRepository) -> list[str]:
    refs, _ = await repository.refs()
    messages, id = [], refs.branch("main").head
    while id:
        messages.append(refs.commit(id).message)
        id = next(iter(refs.commit(id).parents), "")
    return messages


def test_an_import_is_one_commit_that_leaves_the_rest_alone() -> None:
    async def play() -> None:
        buckets = Buckets()
        for key in ("x", "sub/y", "z"):
            await buckets.put(f"s3://data/in/{key}")
        repository = await opened(buckets)
        for path in ("a/x", "a/own", "b"):
            await objects.put(repository, "main", path, once(b"ours"), actor=ANN)
        await commit(repository, "main", CommitRequest("c"), actor=ANN)
        await objects.put(repository, "main", "a/staged", once(b"ours"), actor=ANN)
        landed = await imported(repository, ImportFolder("s3://data/in", "a/"))
        assert landed.counts == ImportCounts(2, 1, 0, sum(len(f"s3://data/in/{key}") for key in ("x", "sub/y", "z")))
        assert await there(repository) == {
            "a/own": b"ours",
            "a/sub/y": b"s3://data/in/sub/y",
            "a/x": b"s3://data/in/x",
            "a/z": b"s3://data/in/z",
            "b": b"ours",
        }
        assert [each.path for each in await staged_changes(repository, "main")] == ["a/staged"]
        assert (await log(repository))[:2] == ["Import s3://data/in", "c"]
        entry = await objects.stat(repository, "main", "a/x")
        assert entry.blocks[0].address == "s3://data/in/x"
        with pytest.raises(NothingToDo, match="has all of it already"):
            await imported(repository, ImportFolder("s3://data/in/", "a/"))
        await repository.close()

    run(play())


def test_several_sources_come_in_together() -> None:
    async def play() -> None:
        buckets = Buckets()
        for url in ("s3://one/k/1", "s3://one/k/3", "gs://two/2", "az://three/4"):
            await buckets.put(url)
        repository = await opened(buckets)
        sources = [ImportFolder("s3://one/k", "in/"), ImportFolder("gs://two", "in/"), ImportFolder("az://three", "")]
        await imported(repository, *sources)
        assert list(await there(repository)) == ["4", "in/1", "in/2", "in/3"]
        await buckets.put("gs://two/1")
        with pytest.raises(Invalid, match="two files would become the object 'in/1'"):
            await imported(repository, *sources)
        assert len(await log(repository)) == 2
        await repository.close()

    run(play())


@pytest.mark.thorough
def test_many_are_kept_in_a_file_and_not_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_list, "IN_MEMORY_BYTES_MAX", 500_000)

    async def play() -> None:
        buckets = Buckets()
        for number in range(25_000):
            await buckets.put(f"s3://data/{number:05d}", b"x")
        repository = await opened(buckets)
        seen: list[int] = []
        gathered = await for_import(repository, [ImportFolder("s3://data", "")], seen.append)
        assert sum(seen) == 25_000
        await bring_in(repository, "main", gathered, actor=ANN)
        assert (await repository.tree((await repository.resolve("main")).commit)).count == 25_000
        await repository.close()

    run(play())


def test_pages_of_a_listing_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a bucket has a thousand keys: what is done for each table is done seldom."""
    monkeypatch.setattr(outside_files, "PIECE", 25)

    async def pages() -> AsyncIterator[pa.Table]:
        for start in range(0, 100, 10):
            yield pa.table({"path": [f"{number:03d}" for number in range(start, start + 10)]})

    async def play() -> None:
        tables = [table async for table in outside_files._in_pieces(pages())]
        assert [len(table) for table in tables] == [20] * 5
        assert all(table["path"].num_chunks == 1 for table in tables)
        assert [path for table in tables for path in table["path"].to_pylist()] == [f"{at:03d}" for at in range(100)]

    run(play())


@pytest.mark.parametrize("deleted", [False, True], ids=["an entry", "a tombstone"])
def test_a_staged_path_is_in_the_way(deleted: bool) -> None:
    async def play() -> None:
        buckets = Buckets()
        await buckets.put("s3://data/x")
        await buckets.put("s3://data/y")
        repository = await opened(buckets)
        await objects.put(repository, "main", "x", once(b"ours"), actor=ANN)
        if deleted:
            await commit(repository, "main", CommitRequest("c"), actor=ANN)
            await objects.delete(repository, "main", ["x"], actor=ANN)
        before = await log(repository)
        with pytest.raises(PathsInTheWay, match="have uncommitted changes: 'x'") as refused:
            await imported(repository, ImportFolder("s3://data", ""))
        assert refused.value.paths == ("x",)
        assert await log(repository) == before
        await repository.close()

    run(play())


def test_what_is_staged_between_look_and_append_is_in_the_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        buckets = Buckets()
        await buckets.put("s3://data/x")
        repository = await opened(buckets)
        original = import_._test

        async def slow(of: OpenRepository, branch: str, changed: pa.StringArray) -> object:
            test = await original(of, branch, changed)
            await objects.put(repository, "main", "x", once(b"ours"), actor=ANN)
            return test

        monkeypatch.setattr(import_, "_test", slow)
        with pytest.raises(PathsInTheWay):
            await imported(repository, ImportFolder("s3://data", ""))
        await repository.close()

    run(play())


def test_an_import_lands_beside_writers_commits_and_other_imports() -> None:
    async def play() -> None:
        buckets = Buckets()
        for name in "abc":
            for number in range(20):
                await buckets.put(f"s3://{name}/{number}")
        repository = await opened(buckets)

        async def write() -> None:
            for number in range(30):
                await objects.put(repository, "main", f"w/{number:02d}", once(b"w"), actor=ANN)
                if number % 10 == 9:
                    await commit(repository, "main", CommitRequest(f"w{number}"), actor=ANN)

        await asyncio.gather(
            write(), *(imported(repository, ImportFolder(f"s3://{name}", f"{name}/")) for name in "abc")
        )
        assert len(await there(repository)) == 90
        assert sorted(await log(repository)) == sorted(
            ["Repository created", "w9", "w19", "w29", "Import s3://a", "Import s3://b", "Import s3://c"]
        )
        await repository.close()

    run(play())


def test_an_ingest_makes_the_tree_what_the_source_is() -> None:
    async def play() -> None:
        buckets = Buckets()
        for key in ("1", "2", "3"):
            await buckets.put(f"s3://data/{key}")
        repository = await opened(buckets)
        await objects.put(repository, "main", "in", once(b"beside"), actor=ANN)
        await objects.put(repository, "main", "in2/own", once(b"beside"), actor=ANN)
        await commit(repository, "main", CommitRequest("c"), actor=ANN)
        assert (await ingested(repository, "s3://data", "in/")).counts[:3] == (3, 0, 0)
        with pytest.raises(NothingToDo):
            await ingested(repository, "s3://data", "in/")
        await buckets.put("s3://data/0", b"new")
        await buckets.put("s3://data/2", b"another")
        await buckets.delete("s3://data/3")
        gathered = await for_ingest(repository, ImportFolder("s3://data", "in/"))
        assert await changes(repository, gathered) == {
            "in/0": ("added", None),
            "in/2": ("changed", len("s3://data/2")),
            "in/3": ("removed", len("s3://data/3")),
        }
        assert (await ingested(repository, "s3://data", "in/")).counts == ImportCounts(1, 1, 1, 3 + 7)
        assert await there(repository) == {
            "in": b"beside",
            "in/0": b"new",
            "in/1": b"s3://data/1",
            "in/2": b"another",
            "in2/own": b"beside",
        }
        await repository.close()

    run(play())


def test_an_ingest_may_keep_what_was_removed() -> None:
    async def play() -> None:
        buckets = Buckets()
        await buckets.put("s3://data/1")
        repository = await opened(buckets)
        await ingested(repository, "s3://data", "")
        await buckets.put("s3://data/2")
        await buckets.delete("s3://data/1")
        assert (await ingested(repository, "s3://data", "", keep_removed=True)).counts[:3] == (1, 0, 0)
        assert [entry.path for entry in (await objects.list_objects(repository, "main")).entries] == ["1", "2"]
        with pytest.raises(Gone):
            await there(repository)
        await buckets.delete("s3://data/2")
        with pytest.raises(NotFound, match="nothing to import under s3://data"):
            await ingested(repository, "s3://data", "")
        await repository.close()

    run(play())


async def changes(repository: OpenRepository, gathered: ImportPlan) -> dict[str, tuple[str, int | None]]:
    found: dict[str, tuple[str, int | None]] = {}
    async for part in import_.differences(repository, "main", gathered):
        rows = zip(part.changes["path"].to_pylist(), part.kinds.to_pylist(), part.before.to_pylist(), strict=True)
        found |= {path: (kind, before) for path, kind, before in rows}
    return found


def test_only_places_that_may_be_named_are() -> None:
    async def play() -> None:
        buckets = Buckets()
        await buckets.put("s3://open/in/x")
        await buckets.put("s3://closed/x")
        asked: list[str] = []

        def may_name(url: str) -> bool:
            asked.append(url)
            return url.startswith("s3://open/")

        repository = await opened(buckets, may_name)
        await imported(repository, ImportFolder("s3://open/in/", ""))
        assert asked == ["s3://open/in"]
        with pytest.raises(Refused, match="s3://closed is not a place"):
            await imported(repository, ImportFolder("s3://closed", ""))
        with pytest.raises(Refused, match="s3://closed/x is not a place"):
            assert repository.outside is not None
            await repository.outside.link("y", "s3://closed/x")
        assert list(await there(repository)) == ["x"]
        await repository.close()

    run(play())
