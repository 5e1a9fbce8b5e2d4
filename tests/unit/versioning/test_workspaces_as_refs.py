"""A workspace as a program uses it, from opening to commit or drop; and how it is named in a ref."""

from collections.abc import Awaitable

import pytest

from lochan.errors import Invalid, NotFound, NothingToDo, Refused
from lochan.formats.commit import Commit
from lochan.ids import Ids
from lochan.versioning import branches, objects
from lochan.versioning.heads import moves
from lochan.versioning.heads.commit import CommitRequest
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.uri import parse_ref
from lochan.versioning.workspaces import selection, write
from lochan.versioning.workspaces.commit import commit
from tests.run import run
from tests.unit.versioning.workspace_place import ANN, BOB, commit_all, once, read, repository_with


async def with_workspace() -> tuple[OpenRepository, WorkspaceState]:
    repository = await repository_with(my_collection="1")
    return repository, await write.open_workspace(repository, "main", "a job", actor=ANN)


def path_of(repository: OpenRepository, workspace: WorkspaceState, path: str = "") -> str:
    return repository.folder(workspace.id).place(path)


async def put(repository: OpenRepository, workspace: WorkspaceState, path: str, data: bytes = b"x") -> None:
    await objects.put(repository, workspace.ref, path, once(data), actor=ANN)


async def commit_added(
    repository: OpenRepository, workspace: WorkspaceState, *patterns: str, key: str = ""
) -> tuple[str, Commit]:
    await selection.add(repository, workspace.id, patterns, actor=ANN)
    return await commit(repository, workspace.id, CommitRequest("some of it"), actor=ANN, key=key)


async def listed(repository: OpenRepository, workspace: WorkspaceState) -> list[str]:
    return [entry.path for entry in (await objects.list_objects(repository, workspace.ref)).entries]


def test_write_to_the_path_and_commit_everything() -> None:
    async def play() -> None:
        repository, workspace = await with_workspace()
        url = path_of(repository, workspace, "another/location") + "/part-0"
        await repository.store.put(url.removeprefix("memory:///"), b"x")  # as a program that was given the path alone
        request = CommitRequest("commit everything!", {"job": "7"})
        id, made = await commit(repository, workspace.id, request, actor=ANN, everything=True)
        assert (made.message, made.metadata) == ("commit everything!", {"job": "7"})
        assert await read(repository, id) == {"my/collection": "1", "another/location/part-0": "x"}

    run(play())


def test_add_some_and_commit_them() -> None:
    async def play() -> None:
        repository, workspace = await with_workspace()
        for name in ("a.parquet", "deep/b.parquet", "c.tmp", "another/location/_SUCCESS"):
            await put(repository, workspace, name)
        await selection.add(repository, workspace.id, ["**/*.parquet"], actor=BOB)
        changes = await selection.diff(repository, workspace.id)
        assert [each.path for each in changes if each.selected] == ["a.parquet", "deep/b.parquet"]
        await commit_added(repository, workspace, "another/location/_SUCCESS")
        assert sorted(await read(repository, "main")) == [
            "a.parquet",
            "another/location/_SUCCESS",
            "deep/b.parquet",
            "my/collection",
        ]

    run(play())


def test_a_commit_of_named_paths_takes_them_and_not_what_was_added() -> None:
    async def play() -> None:
        repository, workspace = await with_workspace()
        for name in ("a", "b", "c/d"):
            await put(repository, workspace, name)
        await objects.delete(repository, workspace.ref, ["my/collection"], actor=ANN)
        await selection.add(repository, workspace.id, ["b"], actor=ANN)
        with pytest.raises(Invalid, match="is not a pattern"):
            await commit(repository, workspace.id, CommitRequest("m", paths=["[z-a]"]), actor=ANN)
        with pytest.raises(NothingToDo, match="matches x"):
            await commit(repository, workspace.id, CommitRequest("m", paths=["x"]), actor=ANN)
        await commit(repository, workspace.id, CommitRequest("m", paths=["a", "c/*", "my/**"]), actor=ANN)
        assert await read(repository, "main") == {"a": "x", "c/d": "x"}

    run(play())


def test_read_list_delete_and_revert() -> None:
    async def play() -> None:
        repository, workspace = await with_workspace()
        await put(repository, workspace, "x", b"0123")
        entry = await objects.stat(repository, workspace.ref, "x")
        assert entry.size == 4
        assert b"".join([piece async for piece in objects.read(repository, entry, 1, 3)]) == b"12"
        assert await listed(repository, workspace) == ["my/collection", "x"]
        assert await objects.delete(repository, workspace.ref, ["my/collection"], actor=ANN) == ["my/collection"]
        assert await selection.revert(repository, workspace.id, ["x"], actor=ANN) == 1
        assert await listed(repository, workspace) == []
        assert await selection.revert(repository, workspace.id, actor=ANN) == 1
        assert await listed(repository, workspace) == ["my/collection"]
        with pytest.raises(NotFound):
            await objects.stat(repository, workspace.ref, "x")

    run(play())


@pytest.mark.parametrize("end", ["commit", "drop"])
def test_nothing_goes_on_in_a_workspace_that_is_closed(end: str) -> None:
    async def play() -> None:
        repository, workspace = await with_workspace()
        await put(repository, workspace, "x")
        if end == "commit":
            await commit_all(repository, workspace)
        else:
            await write.drop(repository, workspace.id, actor=BOB)
        closed = "was committed as" if end == "commit" else "was dropped"
        attempts: tuple[Awaitable[object], ...] = (
            put(repository, workspace, "y"),
            objects.stat(repository, workspace.ref, "x"),
            objects.list_objects(repository, workspace.ref),
            objects.delete(repository, workspace.ref, ["x"], actor=ANN),
            selection.add(repository, workspace.id, ["x"], actor=ANN),
            selection.diff(repository, workspace.id),
            selection.revert(repository, workspace.id, actor=BOB),
            write.drop(repository, workspace.id, actor=BOB),
            write.find(repository, workspace.id),
            commit_all(repository, workspace, "again"),
        )
        for attempt in attempts:
            with pytest.raises(Refused, match=closed):
                await attempt

    run(play())


def test_a_commit_that_is_asked_for_again_with_its_key() -> None:
    async def play() -> None:
        repository, workspace = await with_workspace()
        await put(repository, workspace, "x")
        key = Ids().idempotency_key(repository.clock.wall())
        first = await commit_added(repository, workspace, "x", key=key)
        assert await commit(repository, workspace.id, CommitRequest("some of it"), actor=ANN, key=key) == first

    run(play())


def test_paths_lead_to_the_folder_and_nowhere_else() -> None:
    async def play() -> None:
        repository, workspace = await with_workspace()
        root = f"memory:///{repository.repository.id}/workspaces/{workspace.id}/"
        assert path_of(repository, workspace) == root
        assert path_of(repository, workspace, "a/ü 1%") == f"{root}a/ü 1%"
        assert path_of(repository, workspace, "folder/") == f"{root}folder/"
        for path in ("../x", "a//b", "/a", "a\0", "a/../b"):
            with pytest.raises(Invalid):
                path_of(repository, workspace, path)

    run(play())


# --- as a ref --------------------------------------------------------------------------------------------------------
def test_the_expression() -> None:
    found = parse_ref("main+17-9f3a6c21")
    assert (found.name, found.workspace, found.steps, found.only) == ("main", "17-9f3a6c21", (), "")


@pytest.mark.parametrize("text", ["main+", "main+17", "main+17-9f3a6c21~1", "main+17-9F3A6C21", "main~1+17-9f3a6c21"])
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(Invalid):
        parse_ref(text)


def test_a_workspace_is_read_by_its_ref_and_is_no_commit() -> None:
    async def play() -> None:
        repository, workspace = await with_workspace()
        await put(repository, workspace, "x")
        assert (await objects.stat(repository, workspace.ref, "x")).size == 1
        await branches.create_branch(repository, "dev", "main", actor=ANN)
        with pytest.raises(Invalid, match="workspace of branch 'main'"):
            await objects.stat(repository, f"dev+{workspace.id}", "x")
        with pytest.raises(NotFound, match="no workspace"):
            await objects.stat(repository, "main+1-00000000", "x")
        for work in (
            branches.create_branch(repository, "new", workspace.ref, actor=ANN),
            branches.create_tag(repository, "v1", workspace.ref, actor=ANN),
            moves.merge(repository, workspace.ref, "dev", actor=ANN),
            moves.revert(repository, "main", workspace.ref, actor=ANN),
        ):
            with pytest.raises(Invalid, match="is a workspace, but a commit is needed"):
                await work

    run(play())
