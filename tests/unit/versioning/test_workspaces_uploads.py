"""Multipart uploads into a workspace: completed by one event, which hides a file at the path and can be repeated."""

from collections.abc import AsyncIterator

import pytest

from lochan.errors import NotFound, Refused
from lochan.store.capabilities import Wrapper
from lochan.store.protocol import Stat
from lochan.versioning import uploads
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.uploads import PartRequest
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


async def upload(
    repository: OpenRepository, workspace: WorkspaceState, path: str, text: str
) -> tuple[str, list[PartRequest]]:
    id = await uploads.open_upload(repository, "main", path, actor=ANN, workspace=workspace.id)
    part = await uploads.put_part(repository, id, 1, once(text.encode()), actor=ANN)
    return id, [PartRequest(1, part.etag)]


def test_it_hides_the_file_and_leaves_it() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "x", "file")
        id, parts = await upload(repository, workspace, "x", "parts")
        await uploads.complete(repository, id, parts, actor=ANN)
        assert await read(repository, workspace.ref) == {"a": "1", "x": "parts"}
        assert await repository.store.get(f"{repository.folder(workspace.id).root}x") == b"file"
        await commit_all(repository, workspace)
        assert await read(repository, "main") == {"a": "1", "x": "parts"}

    run(play())


def test_completed_again_it_answers_as_the_first_time() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        id, parts = await upload(repository, workspace, "x", "parts")
        first = await uploads.complete(repository, id, parts, actor=ANN)
        _, number = await repository.refs()
        assert (await uploads.complete(repository, id, parts, actor=ANN)).etag == first.etag
        assert (await repository.refs())[1] == number
        with pytest.raises(NotFound):
            await uploads.complete(repository, "never", parts, actor=ANN)

    run(play())


def test_completed_while_the_workspace_is_committed_it_is_in_it_or_refused() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "x", "file")
        id, parts = await upload(repository, workspace, "x", "parts")
        store = repository.store

        class Slow(Wrapper):
            async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
                found = [stat async for stat in self.inner.list(prefix, after)]
                if prefix.endswith("/x"):  # the stamp of the file that is to be hidden
                    repository.store = store
                    await commit_all(repository, workspace)
                for stat in found:
                    yield stat

        repository.store = Slow(store)
        with pytest.raises(Refused, match="was committed as"):
            await uploads.complete(repository, id, parts, actor=ANN)
        assert await read(repository, "main") == {"a": "1", "x": "file"}

    run(play())
