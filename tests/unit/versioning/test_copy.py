"""Copies, moves and removals: in one event, without moving a byte, and never of missing bytes."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from lochan.errors import Gone, Invalid, NotFound
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.memory import MemoryStore
from lochan.versioning import bulk, copy, objects
from lochan.versioning.bodies.body import ready
from lochan.versioning.copy import CopyChanges, CopyResult
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from tests.run import run

ANN = Actor("ann", "test", "here")


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def opened(counts: RequestCounts | None = None) -> OpenRepository:
    store = MemoryStore()
    lake = await Lake.create(CountingStore(store, counts) if counts else store)
    await lake.create_repository("demo-repo", actor=ANN)
    return await lake.open_repository("demo-repo")


async def put(repository: OpenRepository, *paths: str) -> None:
    for path in paths:
        await objects.put(repository, "main", path, once(path.encode()), actor=ANN, metadata={"of": "ann"})


async def there(repository: OpenRepository, ref: str = "main") -> dict[str, bytes]:
    found = (await objects.list_objects(repository, ref)).entries
    return {entry.path: await repository.reader.read_all(entry) for entry in found}


async def journal_number(repository: OpenRepository) -> int:
    return (await repository.refs())[1]


def test_a_folder_is_copied_by_one_event_and_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        counts = RequestCounts()
        repository = await opened(counts)
        await put(repository, "a/1", "a/2", "a/é/3", "ab")
        await commit(repository, "main", CommitRequest("c"), actor=ANN)
        await put(repository, "a/2.5")
        await objects.delete(repository, "main", ["a/1"], actor=ANN)
        before, puts = await journal_number(repository), counts.put.requests
        assert await copy.copy_folder(repository, "main", "a/", "main", "b/c/", actor=ANN) == CopyResult(3, 3 + 5 + 6)
        assert await journal_number(repository) == before + 1
        assert counts.put.requests == puts
        assert await there(repository) == {
            "a/2": b"a/2",
            "a/2.5": b"a/2.5",
            "a/é/3": "a/é/3".encode(),
            "ab": b"ab",
            "b/c/2": b"a/2",
            "b/c/2.5": b"a/2.5",
            "b/c/é/3": "a/é/3".encode(),
        }
        assert (await objects.stat(repository, "main", "b/c/2")).metadata == {"of": "ann"}
        await repository.close()

    run(play())


def test_many_are_copied_moved_and_removed_as_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "INLINE_MAX", 3)

    async def play() -> None:
        repository = await opened()
        await put(repository, *(f"a/{number}" for number in range(5)))
        before = await journal_number(repository)
        await copy.copy_folder(repository, "main", "a/", "main", "b/", actor=ANN)
        assert len(repository.folded().branch("main").layers.runs) == 1
        await copy.move_folder(repository, "main", "a/", "a/b/", actor=ANN)
        await copy.delete_folder(repository, "main", "b/", actor=ANN)
        assert await journal_number(repository) == before + 3
        assert await there(repository) == {f"a/b/{number}": b"a/%d" % number for number in range(5)}
        await commit(repository, "main", CommitRequest("c"), actor=ANN)
        assert len(await there(repository, "main@")) == 5
        await repository.close()

    run(play())


def test_a_folder_is_moved_into_itself() -> None:
    async def play() -> None:
        repository = await opened()
        await put(repository, "a/x", "a/b/x", "a/b/b/x")
        await copy.move_folder(repository, "main", "a/", "a/b/", actor=ANN)
        assert await there(repository) == {"a/b/x": b"a/x", "a/b/b/x": b"a/b/x", "a/b/b/b/x": b"a/b/b/x"}
        await copy.move_folder(repository, "main", "a/b/", "", actor=ANN)
        assert await there(repository) == {"x": b"a/x", "b/x": b"a/b/x", "b/b/x": b"a/b/b/x"}
        await repository.close()

    run(play())


def test_a_copy_onto_itself_has_other_notes() -> None:
    async def play() -> None:
        repository = await opened()
        await put(repository, "a")
        with pytest.raises(Invalid, match="are the same"):
            await copy.copy(repository, "main", "a", "main", "a", actor=ANN)
        changes = CopyChanges("text/csv", {"cache-control": "no-store"}, {"k": "v"})
        entry = await copy.copy(repository, "main", "a", "main", "a", actor=ANN, options=changes)
        assert (entry.content_type, entry.headers, entry.metadata) == (
            "text/csv",
            {"cache-control": "no-store"},
            {"k": "v"},
        )
        assert await objects.stat(repository, "main", "a") == entry
        assert await there(repository) == {"a": b"a"}
        again = await copy.copy(repository, "main", "a", "main", "b", actor=ANN, options=CopyChanges(metadata={}))
        assert (again.content_type, again.metadata) == ("text/csv", {})
        await repository.close()

    run(play())


def test_bytes_that_vanished_are_not_named_once_more() -> None:
    async def play() -> None:
        repository = await opened()
        await put(repository, "a/1", "a/2")
        entry = await objects.stat(repository, "main", "a/2")
        await repository.store.delete(entry.blocks[0].address)
        for call in (
            copy.copy(repository, "main", "a/2", "main", "b", actor=ANN),
            copy.copy_folder(repository, "main", "a/", "main", "b/", actor=ANN),
        ):
            with pytest.raises(Gone, match=r"'a/2': its bytes at .* are gone"):
                await call
        await copy.copy(repository, "main", "a/1", "main", "b", actor=ANN)
        assert [entry.path for entry in (await objects.list_objects(repository, "main")).entries] == ["a/1", "a/2", "b"]
        await repository.close()

    run(play())


def test_a_pack_is_asked_for_once() -> None:
    async def play() -> None:
        counts = RequestCounts()
        repository = await opened(counts)
        _, mint = await repository.refs()
        bodies = [ready(f"a/{number}", b"%d" % number) for number in range(50)]
        entries = await repository.bodies.write_pack(bodies, mint=mint)
        await objects.put_many(repository, "main", entries, actor=ANN)
        heads = counts.head.requests
        await copy.copy_folder(repository, "main", "a/", "main", "b/", actor=ANN)
        assert counts.head.requests == heads + 1
        await repository.close()

    run(play())


def test_what_is_put_to_the_source_meanwhile_is_moved_and_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        repository = await opened()
        await put(repository, "a/1", "other/1")
        original, stalled = bulk.staging_event, asyncio.Event()

        async def slow(*given: object) -> object:
            if not stalled.is_set():
                stalled.set()
                await objects.put(repository, "main", "a/1", once(b"new"), actor=ANN)
                await objects.put(repository, "main", "a/2", once(b"too"), actor=ANN)
            return await original(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(bulk, "staging_event", slow)
        await copy.move_folder(repository, "main", "a/", "b/", actor=ANN)
        assert await there(repository) == {"b/1": b"new", "b/2": b"too", "other/1": b"other/1"}
        stalled.clear()
        await put(repository, "a/1")
        await copy.move(repository, "main", "a/1", "c", actor=ANN)
        assert (await there(repository))["c"] == b"new"
        await repository.close()

    run(play())


@pytest.mark.parametrize(
    "prefix, to, error, message",
    [
        ("none/", "b/", NotFound, "no objects in 'none/'"),
        ("a/", "a/", Invalid, "are the same"),
        ("a/", "b" * 1_024, Invalid, "too long"),
        ("a/1", "", Invalid, "is empty"),
    ],
)
def test_what_cannot_be_copied_or_moved(prefix: str, to: str, error: type[Exception], message: str) -> None:
    async def play() -> None:
        repository = await opened()
        await put(repository, "a/1")
        before = await journal_number(repository)
        for call in (
            copy.copy_folder(repository, "main", prefix, "main", to, actor=ANN),
            copy.move_folder(repository, "main", prefix, to, actor=ANN),
        ):
            with pytest.raises(error, match=message):
                await call
        assert await journal_number(repository) == before
        await repository.close()

    run(play())
