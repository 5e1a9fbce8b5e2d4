"""Operations on whole folders agree with one path at a time: what is visible, and what a list would change."""

from collections.abc import AsyncIterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import entries_of, table_of
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.tree.assemble import RangeCut
from lochan.tree.trees import Trees
from lochan.versioning import objects
from lochan.versioning.bulk import visible
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.heads.subtree import SubtreeRequest, compare, same_file
from lochan.versioning.open_repository import OpenRepository
from tests.run import run

pytestmark = pytest.mark.thorough

ANN = Actor("ann", "test", "here")
PATHS = st.text(alphabet="a/é\U0001f600", min_size=1, max_size=4)
TINY = RangeCut(2, 1, 4)


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def opened() -> OpenRepository:
    lake = await Lake.create(MemoryStore())
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    repository.trees = Trees(repository.store, repository.repository.id, cut=TINY)
    return repository


@settings(max_examples=60, deadline=None)
@given(
    st.sets(PATHS, max_size=30), st.sets(PATHS, max_size=10), st.sets(PATHS, max_size=20), st.text("a/é", max_size=2)
)
def test_a_folder_is_seen_as_its_pages_are(base: set[str], puts: set[str], deletes: set[str], prefix: str) -> None:
    async def play() -> None:
        repository = await opened()
        for path in base:
            await objects.put(repository, "main", path, once(b"base"), actor=ANN)
        if base:
            await commit(repository, "main", CommitRequest("c"), actor=ANN)
        for path in puts:
            await objects.put(repository, "main", path, once(b"staged"), actor=ANN)
        await objects.delete(repository, "main", sorted(deletes), actor=ANN)
        for ref in ("main", "main@"):
            resolved = await repository.resolve(ref)
            page = await objects.list_objects(repository, ref, prefix)
            assert entries_of(await visible(repository, resolved, prefix)) == page.entries
        await repository.close()

    run(play())


def file(path: str, version: int) -> Entry:
    return Entry(path, (Block(f"s3://b/{path}", 0, version, b""),), version, "", f"e{version}", version)


class Listing:
    """A list of files that is given in pieces of two."""

    def __init__(self, files: dict[str, int]) -> None:
        self.count = len(files)
        self._files = files

    async def between(self, after: str, upto: str | None) -> AsyncIterator[pa.Table]:
        found = sorted(
            (path for path in self._files if path > after and (upto is None or path.encode() <= upto.encode())),
            key=str.encode,
        )
        for start in range(0, len(found), 2):
            yield table_of(file(path, self._files[path]) for path in found[start : start + 2])


FILES = st.dictionaries(PATHS, st.integers(0, 2), max_size=30)


@settings(max_examples=100, deadline=None)
@given(FILES, FILES, st.text("a/é", max_size=2), st.booleans())
def test_a_listing_is_compared_as_dictionaries_are(
    here: dict[str, int], there: dict[str, int], prefix: str, remove: bool
) -> None:
    async def play() -> None:
        trees = Trees(MemoryStore(), "r", cut=TINY)
        tree = await trees.build(table_of(file(*item) for item in here.items()), 1)
        files = {path: version for path, version in there.items() if path.startswith(prefix)}
        expected = {
            path: (("changed" if path in here else "added"), here.get(path), version)
            for path, version in files.items()
            if here.get(path) != version
        }
        if remove:
            gone = (path for path in here if path.startswith(prefix) and path not in files)
            expected |= {path: ("removed", here[path], 0) for path in gone}
        found: list[tuple[str, tuple[str, int | None, int]]] = []
        async for part in compare(tree, Listing(files), SubtreeRequest(prefix, same_file, remove)):
            assert len(part.changes)
            columns = (part.kinds, part.before, part.changes["size"])
            values = zip(*(column.to_pylist() for column in columns), strict=True)
            found += zip(part.changes["path"].to_pylist(), values, strict=True)
            deleted = part.changes["deleted"].to_pylist()
            assert deleted == [kind == "removed" for kind in part.kinds.to_pylist()]
        assert [path for path, _ in found] == sorted((path for path, _ in found), key=str.encode)
        assert dict(found) == expected
        assert len(found) == len(expected)

    run(play())
