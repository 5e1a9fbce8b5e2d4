"""Copies and moves into, out of and within a workspace, by the same functions as on a branch."""

import pytest

from lochan.errors import Invalid, NotFound
from lochan.versioning import copy, objects
from lochan.versioning.copy import CopyChanges, CopyResult
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.transfer import transfer, transfer_folder
from tests.run import run
from tests.unit.versioning.workspace_place import (
    ANN,
    commit_all,
    once,
    opened,
    read,
    repository_with,
    write_file,
)


async def place() -> tuple[OpenRepository, WorkspaceState]:
    """`a` and `dir/b` are committed, `f` and `new/g` are files of the workspace."""
    repository = await repository_with(a="1", dir_b="2")
    workspace = await opened(repository)
    await write_file(repository, workspace, "f", "file")
    await write_file(repository, workspace, "new/g", "grown")
    return repository, workspace


async def address(repository: OpenRepository, ref: str, path: str) -> str:
    return (await objects.stat(repository, ref, path)).blocks[0].address


def test_what_is_committed_is_named_once_more_in_the_workspace() -> None:
    async def play() -> None:
        repository, workspace = await place()
        made = await copy.copy(repository, "main", "a", workspace.ref, "f", actor=ANN)
        assert made.path == "f"
        assert await address(repository, workspace.ref, "f") == await address(repository, "main", "a")
        assert (await read(repository, workspace.ref))["f"] == "1"  # the file that was there has gone

    run(play())


def test_a_file_is_copied_with_its_bytes() -> None:
    async def play() -> None:
        repository, workspace = await place()
        await copy.copy(repository, workspace.ref, "f", "main", "kept", actor=ANN)
        await copy.copy(repository, workspace.ref, "f", workspace.ref, "again", actor=ANN)
        await write_file(repository, workspace, "f", "changed")
        assert (await read(repository, "main"))["kept"] == "file"
        assert (await read(repository, workspace.ref))["again"] == "file"
        assert "/data/" in await address(repository, "main", "kept")

    run(play())


def test_a_copy_onto_itself_with_other_notes() -> None:
    async def play() -> None:
        repository, workspace = await place()
        with pytest.raises(Invalid, match="the same"):
            await copy.copy(repository, workspace.ref, "f", workspace.ref, "f", actor=ANN)
        changes = CopyChanges("text/plain", None, {"k": "v"})
        made = await copy.copy(repository, workspace.ref, "f", workspace.ref, "f", actor=ANN, options=changes)
        assert (made.content_type, made.metadata) == ("text/plain", {"k": "v"})
        assert (await read(repository, workspace.ref))["f"] == "file"

    run(play())


def test_moves_of_files_and_of_what_is_committed() -> None:
    async def play() -> None:
        repository, workspace = await place()
        await copy.move(repository, workspace.ref, "f", "moved/f", actor=ANN)
        await copy.move(repository, workspace.ref, "a", "moved/a", actor=ANN)
        expected = {"dir/b": "2", "moved/a": "1", "moved/f": "file", "new/g": "grown"}
        assert await read(repository, workspace.ref) == expected
        await commit_all(repository, workspace)
        assert await read(repository, "main") == expected
        assert (await address(repository, "main", "moved/a")).split("/")[1] == "data"

    run(play())


def test_folders() -> None:
    async def play() -> None:
        repository, workspace = await place()
        ref = workspace.ref
        assert await copy.copy_folder(repository, "main", "dir/", ref, "new/", actor=ANN) == CopyResult(1, 1)
        assert await copy.move_folder(repository, ref, "new/", "other/", actor=ANN) == CopyResult(2, 6)
        assert await read(repository, ref) == {"a": "1", "dir/b": "2", "f": "file", "other/b": "2", "other/g": "grown"}
        assert await copy.delete_folder(repository, ref, "dir/", actor=ANN) == CopyResult(1, 1)
        assert await copy.delete_folder(repository, ref, "nothing/", actor=ANN) == CopyResult(0, 0)
        assert await copy.copy_folder(repository, ref, "other/", "main", "got/", actor=ANN) == CopyResult(2, 6)
        assert await read(repository, "main") == {"a": "1", "dir/b": "2", "got/b": "2", "got/g": "grown"}
        with pytest.raises(Invalid, match="is inside the other"):
            await copy.move_folder(repository, ref, "other/", "other/deep/", actor=ANN)
        with pytest.raises(NotFound):
            await copy.copy_folder(repository, ref, "nothing/", ref, "x/", actor=ANN)

    run(play())


def test_between_repositories() -> None:
    async def play() -> None:
        repository, workspace = await place()
        other = await repository_with(z="26")
        there = await opened(other)
        await transfer(repository, workspace.ref, "f", other, there.ref, "f", actor=ANN)
        await transfer_folder(repository, workspace.ref, "new/", other, there.ref, "new/", actor=ANN)
        assert await read(other, there.ref) == {"f": "file", "new/g": "grown", "z": "26"}

    run(play())


def test_objects_are_put_and_deleted_by_the_ref() -> None:
    async def play() -> None:
        repository, workspace = await place()
        await objects.put(repository, workspace.ref, "p", once(b"put"), actor=ANN)
        assert await address(repository, workspace.ref, "p") == f"{repository.folder(workspace.id).root}p"
        assert await objects.delete(repository, workspace.ref, ["a", "f"], actor=ANN) == ["a", "f"]
        assert await read(repository, workspace.ref) == {"dir/b": "2", "new/g": "grown", "p": "put"}
        with pytest.raises(Invalid, match="workspace of branch 'main'"):
            await objects.put(repository, f"dev+{workspace.id}", "p", once(b""), actor=ANN)

    run(play())
