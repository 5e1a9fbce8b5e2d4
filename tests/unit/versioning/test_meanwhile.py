"""What others do between the moment when a verb has looked and the moment when it appends."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from lochan.errors import NotFound, PathsInTheWay, PreconditionFailed
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.formats.repository_events import Staged
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.tree.merge import Strategy
from lochan.versioning import branches, copy, objects, stash
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.objects import submit_if
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.diff import staged_changes
from tests.run import run

ANN = Actor("ann", "test", "here")


async def opened() -> OpenRepository:
    """With `b` on `dev`, and nothing staged."""
    lake = await Lake.create(MemoryStore())
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    await branches.create_branch(repository, "dev", "main", actor=ANN)
    await put(repository, "dev", "b")
    await commit(repository, "dev", CommitRequest("b"), actor=ANN)
    return repository


async def put(repository: OpenRepository, branch: str, path: str, data: bytes = b"1") -> Entry:
    return await objects.put(repository, branch, path, _once(data), actor=ANN)


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def before(repository: OpenRepository, verb: str, other: Callable[[], Awaitable[object]]) -> None:
    """Another client comes before the next append."""
    append = getattr(repository, verb)

    async def second(*args: Any, **kwargs: Any) -> Any:
        setattr(repository, verb, append)
        await other()
        return await append(*args, **kwargs)

    setattr(repository, verb, second)


async def shown(repository: OpenRepository, ref: str) -> list[str]:
    return [entry.path for entry in (await objects.list_objects(repository, ref)).entries]


async def uncommitted(repository: OpenRepository, branch: str) -> list[str]:
    return [each.path for each in await staged_changes(repository, branch)]


def test_what_a_partial_commit_leaves_staged_is_not_hidden_under_by_the_merge_after_it() -> None:
    async def play() -> None:
        repository = await opened()
        await put(repository, "main", "b", b"mine")
        await put(repository, "main", "z")
        with pytest.raises(PathsInTheWay) as refused:
            await head_moves.merge(repository, "dev", "main", actor=ANN, commit_first=CommitRequest("z", paths=["z"]))
        assert refused.value.paths == ("b",)
        assert await uncommitted(repository, "main") == ["b", "z"]
        await head_moves.merge(
            repository, "dev", "main", actor=ANN, commit_first=CommitRequest("b"), strategy=Strategy("dest-wins")
        )
        assert await shown(repository, "main@") == ["b", "z"]

    run(play())


def test_what_comes_to_a_clean_branch_is_committed_first_too() -> None:
    async def play() -> None:
        repository = await opened()
        before(repository, "submit_decided", lambda: put(repository, "main", "z"))
        await head_moves.merge(repository, "dev", "main", actor=ANN, commit_first=CommitRequest("z"))
        assert await shown(repository, "main@") == ["b", "z"]
        assert await uncommitted(repository, "main") == []

    run(play())


def test_what_was_to_be_committed_first_is_stashed_meanwhile() -> None:
    async def play() -> None:
        repository = await opened()
        await put(repository, "main", "z")
        before(repository, "submit", lambda: stash.push(repository, "main", actor=ANN))
        await head_moves.merge(repository, "dev", "main", actor=ANN, commit_first=CommitRequest("z"))
        assert await shown(repository, "main") == ["b"]
        assert len(await stash.list_stashes(repository)) == 1

    run(play())


@pytest.mark.parametrize("how", ["reset", "stash"])
def test_a_move_does_not_bring_back_what_was_put_aside(how: str) -> None:
    async def aside(repository: OpenRepository) -> None:
        if how == "reset":
            await branches.reset_staged(repository, "main", actor=ANN)
        else:
            await stash.push(repository, "main", actor=ANN)

    async def play() -> None:
        repository = await opened()
        await put(repository, "main", "z")
        before(repository, "submit_decided", lambda: aside(repository))
        with pytest.raises(NotFound):
            await copy.move(repository, "main", "z", "y", actor=ANN)
        assert await uncommitted(repository, "main") == []

    run(play())


def test_a_condition_is_tested_again_after_a_reset() -> None:
    async def play() -> None:
        repository = await opened()
        entry = await put(repository, "main", "z")
        before(repository, "submit_decided", lambda: branches.reset_staged(repository, "main", actor=ANN))

        def is_it(found: Entry | None) -> None:
            if found is None or found.etag != entry.etag:
                raise PreconditionFailed("another one")

        with pytest.raises(PreconditionFailed):
            await submit_if(repository, "main", "z", is_it, [Staged("main", puts=(entry,))], actor=ANN)
        assert await uncommitted(repository, "main") == []

    run(play())
