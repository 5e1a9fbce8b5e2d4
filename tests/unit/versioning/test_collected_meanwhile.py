"""Garbage is collected while objects are copied, moved, imported and linked: nothing ever names dead bytes."""

from collections.abc import AsyncIterator

import pytest

from lochan.errors import Gone
from lochan.formats.collection_events import PlanEnded, Planned
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.lake import Lake, LakeOptions
from lochan.store.memory import MemoryStore
from lochan.versioning import bulk, copy, links, objects
from lochan.versioning.bodies.body import ready
from lochan.versioning.heads import imports as import_
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.heads.imports import ImportFolder
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.unstage import unstage
from tests.run import run

ANN = Actor("ann", "test", "here")


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def opened() -> tuple[OpenRepository, MemoryStore]:
    outside = MemoryStore()
    lake = await Lake.create(MemoryStore(), world=LakeOptions(lambda url: outside))
    await lake.create_repository("demo-repo", actor=ANN)
    return await lake.open_repository("demo-repo"), outside


async def collect(repository: OpenRepository) -> None:
    """A garbage collection that finds nothing to remove; the second one draws the cut at the first."""
    refs, number = await repository.refs()
    plan = await repository.submit(ANN, Planned(refs.collection.plan, number, "list"))
    await repository.submit(ANN, PlanEnded(plan, "reported"))


def test_a_token_outlives_collections() -> None:
    async def play() -> None:
        repository, _ = await opened()
        given = await links.physical_address(repository, "main", "a", actor=ANN)
        late = await repository.bodies.write("b", once(b"x"), mint=(await repository.refs())[1])
        await repository.store.put(given.address, b"1234")
        await collect(repository)
        await collect(repository)
        with pytest.raises(Gone, match="before the last garbage collection"):
            await objects.put_many(repository, "main", [late], actor=ANN)
        entry = await links.link(repository, "main", "a", given.token, actor=ANN)
        assert await repository.reader.read_all(entry) == b"1234"
        await repository.close()

    run(play())


@pytest.mark.parametrize("packed", [False, True], ids=["a file of its own", "in a pack"])
def test_a_refused_write_succeeds_when_it_is_repeated(packed: bool) -> None:
    """However short the grace is: the repeated write is not named like the refused one."""

    async def play() -> None:
        repository, _ = await opened()
        late = await written(repository)
        await collect(repository)
        await collect(repository)
        with pytest.raises(Gone, match="before the last garbage collection"):
            await objects.put_many(repository, "main", [late], actor=ANN)
        again = await written(repository)
        await collect(repository)  # one plan is no reason to refuse it
        await objects.put_many(repository, "main", [again], actor=ANN)
        assert await repository.reader.read_all(again) == b"x"
        await repository.close()

    async def written(repository: OpenRepository) -> Entry:
        if packed:
            return await repository.packing.write(ready("b", b"x"))
        return await repository.bodies.write("b", once(b"x"), mint=(await repository.refs())[1])

    run(play())


@pytest.mark.parametrize("inline", [500, 0], ids=["in the event", "as runs"])
@pytest.mark.parametrize("verb", ["copy", "copy_folder", "move", "move_folder", "delete_folder", "unstage"])
def test_what_was_read_before_a_collection_is_read_again(
    verb: str, inline: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "INLINE_MAX", inline)

    async def play() -> None:
        repository, _ = await opened()
        await objects.put(repository, "main", "a/1", once(b"x"), actor=ANN)
        await commit(repository, "main", CommitRequest("c"), actor=ANN)
        original, tries = bulk.staging_event, 0

        async def slow(*given: object) -> object:
            nonlocal tries
            tries += 1
            if tries == 1:
                await collect(repository)
            return await original(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(bulk, "staging_event", slow)
        match verb:
            case "copy":
                await copy.copy(repository, "main", "a/1", "main", "b/1", actor=ANN)
            case "copy_folder":
                await copy.copy_folder(repository, "main", "a/", "main", "b/", actor=ANN)
            case "move":
                await copy.move(repository, "main", "a/1", "b/1", actor=ANN)
            case "move_folder":
                await copy.move_folder(repository, "main", "a/", "b/", actor=ANN)
            case "delete_folder":
                await copy.delete_folder(repository, "main", "a/", actor=ANN)
            case "unstage":
                for path in ("b/1", "c/1"):
                    await objects.put(repository, "main", path, once(b"y"), actor=ANN)
                await unstage(repository, "main", ("c/1",), None, actor=ANN)
        assert tries == 2
        expected = {"copy": ["a/1", "b/1"], "move": ["b/1"], "delete": [], "unstage": ["a/1", "b/1"]}[
            verb.partition("_")[0]
        ]
        assert [entry.path for entry in (await objects.list_objects(repository, "main")).entries] == expected
        await repository.close()

    run(play())


def test_an_import_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        repository, outside = await opened()
        await outside.put("x", b"1234")
        original, tries = import_._test, 0

        async def slow(*given: object) -> object:
            nonlocal tries
            tries += 1
            if tries == 1:
                await collect(repository)
            return await original(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(import_, "_test", slow)
        gathered = await import_.for_import(repository, [ImportFolder("s3://b", "")])
        await import_.bring_in(repository, "main", gathered, actor=ANN)
        assert tries == 2
        await collect(repository)
        await collect(repository)
        await links.stage(repository, "main", "y", "s3://b/x", actor=ANN)  # outside nothing is ever too old
        assert [entry.path for entry in (await objects.list_objects(repository, "main")).entries] == ["x", "y"]
        await repository.close()

    run(play())
