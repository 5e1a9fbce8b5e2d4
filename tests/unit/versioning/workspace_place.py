"""A repository in memory with a workspace, and short functions for what a test does to it."""

from collections.abc import AsyncIterator, Mapping

from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning import objects
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.workspaces import commit as workspace_commit
from lochan.versioning.workspaces import write as registry

ANN = Actor("ann", "test", "here")
BOB = Actor("bob", "test", "there")


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def repository_with(**files: str) -> OpenRepository:
    """A repository with these files committed on main; underscores stand for slashes."""
    lake = await Lake.create(MemoryStore())
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    if files:
        await change(repository, {path.replace("_", "/"): text for path, text in files.items()})
    return repository


async def change(repository: OpenRepository, files: Mapping[str, str | None], branch: str = "main") -> str:
    """Committed on the branch; None deletes."""
    for path, text in files.items():
        if text is None:
            await objects.delete(repository, branch, [path], actor=ANN)
        else:
            await objects.put(repository, branch, path, once(text.encode()), actor=ANN)
    id, _ = await commit(repository, branch, CommitRequest("a change"), actor=ANN)
    return id


async def opened(repository: OpenRepository, branch: str = "main") -> WorkspaceState:
    return await registry.open_workspace(repository, branch, actor=ANN)


async def write_file(repository: OpenRepository, workspace: WorkspaceState, path: str, text: str) -> None:
    """Writes like another program, which knows only the store."""
    await repository.store.put(f"{repository.repository.id}/workspaces/{workspace.id}/{path}", text.encode())


async def commit_all(repository: OpenRepository, workspace: WorkspaceState, message: str = "all", **said: str) -> str:
    id, _ = await workspace_commit.commit(
        repository, workspace.id, CommitRequest(message), actor=ANN, everything=True, **said
    )
    return id


async def read(repository: OpenRepository, ref: str) -> dict[str, str]:
    """Everything that is there."""
    found: dict[str, str] = {}
    after: str | None = ""
    while after is not None:
        page = await objects.list_objects(repository, ref, after=after)
        for entry in page.entries:
            found[entry.path] = b"".join([piece async for piece in objects.read(repository, entry)]).decode()
        after = page.next
    return found
