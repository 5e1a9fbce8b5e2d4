"""Workspaces in the fold: kept by checkpoints, and the conditions of their events."""

import msgspec
import pytest

from lochan.errors import ConcurrentCommit, Refused
from lochan.formats.collection_events import Abandoned, Opened
from lochan.formats.commit import Commit
from lochan.formats.repository_events import Moved
from lochan.formats.workspace_events import WorkspaceAdded
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.collection import REMOVAL
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.workspaces import selection, write
from lochan.versioning.workspaces import write as registry
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


def test_a_checkpoint_keeps_open_and_closed_ones() -> None:
    async def play() -> None:
        store = MemoryStore()
        lake = await Lake.create(store)
        await lake.create_repository("demo-repo", actor=ANN)
        repository = await lake.open_repository("demo-repo")
        spaces = [await opened(repository) for _ in range(3)]
        await write.put(repository, spaces[0].id, "a", once(b"1"), actor=ANN, metadata={"k": "v"})
        await selection.add(repository, spaces[0].id, ["a*"], actor=ANN)
        await write_file(repository, spaces[1], "b", "2")
        id = await commit_all(repository, spaces[1])
        await registry.drop(repository, spaces[2].id, actor=ANN)
        await repository.journal.checkpoint()
        before = await registry.find(repository, spaces[0].id)

        again = await (await Lake.open(store)).open_repository("demo-repo")
        after = await registry.find(again, spaces[0].id)
        assert after.layers.dump() == before.layers.dump()
        assert msgspec.structs.replace(after, layers=before.layers) == before
        assert after.added == ("a*",)
        assert await read(again, spaces[0].ref) == {"a": "1"}
        with pytest.raises(Refused, match=f"was committed as {id[:12]}"):
            await registry.find(again, spaces[1].id)
        with pytest.raises(Refused, match="was dropped"):
            await registry.find(again, spaces[2].id)
        refs, _ = await again.refs()
        assert refs.workspaces.committed_as(spaces[1].id) == id
        assert refs.workspaces.committed_as(spaces[2].id) is None

    run(play())


async def event(repository: OpenRepository, workspace: WorkspaceState) -> Moved:
    """A commit of the workspace that is valid just now."""
    refs, number = await repository.refs()
    branch = refs.branch("main")
    head = refs.commit(branch.head)
    made = Commit((branch.head,), "ann", "ann", "m", 0, {}, head.tree, head.tree_file, head.generation + 1)
    last = refs.workspaces.get(workspace.id).last
    return Moved(
        "main",
        branch.incarnation,
        branch.head,
        made.id,
        "workspace",
        (made,),
        read_at=number,
        workspace=workspace.id,
        upto=last,
    )


def test_a_commit_is_valid_only_up_to_the_last_event() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        early = await event(repository, workspace)
        await repository.submit(ANN, WorkspaceAdded(workspace.id, ("x",)))
        with pytest.raises(ConcurrentCommit, match="was written to while it was committed"):
            await repository.submit(ANN, early)
        await repository.submit(ANN, await event(repository, workspace))
        with pytest.raises(Refused, match="was committed as"):
            await event(repository, workspace)

    run(play())


def test_no_commit_is_valid_while_files_are_being_removed() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace, other = await opened(repository), await opened(repository)
        root = repository.folder(workspace.id).root
        await repository.submit(ANN, Opened("held", REMOVAL, root, "main", expires=1))
        with pytest.raises(ConcurrentCommit, match="are being removed"):
            await repository.submit(ANN, await event(repository, workspace))
        await repository.submit(ANN, await event(repository, other))
        await repository.submit(ANN, Abandoned(("held",)))
        await repository.submit(ANN, await event(repository, workspace))

    run(play())


def test_deleting_and_reverting_very_many() -> None:
    async def play() -> None:
        repository = await repository_with()
        workspace = await opened(repository)
        for number in range(1_100):
            await write_file(repository, workspace, f"{number:04d}", "x")
        some = [f"{number:04d}" for number in range(600)]
        assert await write.delete(repository, workspace.id, some, actor=ANN) == some
        assert len(await read(repository, workspace.ref)) == 500
        assert await selection.revert(repository, workspace.id, actor=ANN) == 500
        assert await read(repository, workspace.ref) == {}

    run(play())


def test_a_pattern_of_many_stars_is_folded_at_once() -> None:
    """Tried one way after another it would take until the end of the world, in every process that reads the lake."""

    async def play() -> None:
        repository = await repository_with()
        workspace = await opened(repository)
        await write.put(repository, workspace.id, "a" * 200, once(b"1"), actor=ANN, metadata={"k": "v"})
        await write.put(repository, workspace.id, "b", once(b"2"), actor=ANN)
        assert await selection.revert(repository, workspace.id, ["*a" * 40 + "c", "**/b"], actor=ANN) == 1
        assert await read(repository, workspace.ref) == {"a" * 200: "1"}

    run(play())
