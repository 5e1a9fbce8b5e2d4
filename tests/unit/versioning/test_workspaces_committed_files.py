"""Our own verbs never destroy what a workspace has committed, however late, slow or wrongly clocked they are (S8)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lochan.clock import SystemClock
from lochan.errors import LochanError, Refused
from lochan.lake import Lake
from lochan.store.capabilities import Wrapper
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.versioning import objects
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.workspaces import selection, write
from tests.run import run
from tests.unit.versioning.workspace_place import ANN, BOB, commit_all, once, opened, read, write_file

LARGE = 9 << 20


class Skewed(SystemClock):
    """Its wall clock is two minutes behind."""

    def wall(self) -> int:
        return super().wall() - 120_000_000


class Stalled(Wrapper):
    """While a request for a file of a workspace is on its way, another client commits the workspace."""

    def __init__(self, inner: Store, verb: str, repository: OpenRepository, workspace: WorkspaceState) -> None:
        super().__init__(inner)
        self._verb = verb
        self._repository = repository
        self._workspace: WorkspaceState | None = workspace

    async def delete(self, path: str) -> None:
        await self._meanwhile("delete", path)
        await self.inner.delete(path)

    async def put(self, path: str, data: bytes) -> None:
        await self._meanwhile("put", path)
        await self.inner.put(path, data)

    async def put_if_absent(self, path: str, data: bytes) -> None:
        await self._meanwhile("put", path)
        await self.inner.put_if_absent(path, data)

    async def _meanwhile(self, verb: str, path: str) -> None:
        if verb == self._verb and self._workspace is not None and "/journal/" not in path:
            workspace, self._workspace = self._workspace, None
            await commit_all(self._repository, workspace)


async def two_processes(store: Store) -> tuple[OpenRepository, OpenRepository]:
    """The same repository; the clock of the second process is two minutes off."""
    lake = await Lake.create(store)
    await lake.create_repository("demo-repo", actor=ANN)
    other = await Lake.open(store, clock=Skewed())
    return await lake.open_repository("demo-repo"), await other.open_repository("demo-repo")


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else LocalStore(str(tmp_path / "lake"), create=True)


@pytest.mark.parametrize("size", [4, LARGE], ids=["small", "large"])
def test_an_upload_that_is_under_way_while_the_workspace_is_committed(store: Store, size: int) -> None:
    async def play() -> None:
        one, other = await two_processes(store)
        workspace = await opened(one)
        await write.put(one, workspace.id, "x", once(b"committed"), actor=ANN)

        async def slow() -> AsyncIterator[bytes]:
            yield b"l" * (size // 2)
            await commit_all(one, workspace)
            yield b"l" * (size // 2)

        with pytest.raises(Refused, match="was committed as"):
            await write.put(other, workspace.id, "x", slow(), actor=BOB)
        assert await read(one, "main") == {"x": "committed"}

    run(play())


@pytest.mark.thorough
@pytest.mark.parametrize("verb", ["put", "delete", "none"])
@pytest.mark.parametrize("what", ["delete", "revert", "put", "stage", "copy", "move"])
def test_a_verb_that_stalls_while_the_workspace_is_committed(store: Store, what: str, verb: str) -> None:
    """The stalled client has a wrong clock, so none of its leases means anything to others."""

    async def play() -> None:
        one, other = await two_processes(store)
        workspace = await opened(one)
        await write_file(one, workspace, "x", "committed")
        await write.put(one, workspace.id, "y", once(b"too"), actor=ANN)
        other.store = other.bodies._store = Stalled(store, verb, one, workspace)
        try:
            await _do(other, workspace, what)
        except LochanError as error:
            assert isinstance(error, Refused), error
            assert "was committed as" in str(error)
        shown = await read(one, "main")  # every byte of what is there is checked
        if not shown:
            shown = await read(one, workspace.ref)
            await commit_all(one, workspace)
            assert await read(one, "main") == shown

    run(play())


async def _do(repository: OpenRepository, workspace: WorkspaceState, what: str) -> None:
    id, ref = workspace.id, workspace.ref
    match what:
        case "delete":
            await write.delete(repository, id, ["x"], actor=BOB)
        case "revert":
            await selection.revert(repository, id, actor=BOB)
            await write.put(repository, id, "z", once(b"more"), actor=BOB)
        case "put":
            await write.put(repository, id, "x", once(b"another"), actor=BOB)
        case "stage":
            await write.put(repository, id, "x", once(b"another"), actor=BOB, metadata={"k": "v"})
        case "copy":
            from lochan.versioning.copy import copy

            await copy(repository, ref, "x", ref, "y", actor=BOB)
        case "move":
            from lochan.versioning.copy import move

            await move(repository, ref, "x", "y", actor=BOB)


def test_a_file_is_never_overwritten_nor_deleted_by_us(store: Store) -> None:
    async def play() -> None:
        one, _ = await two_processes(store)
        workspace = await opened(one)
        root = one.folder(workspace.id).root
        await write.put(one, workspace.id, "x", once(b"1"), actor=ANN)
        await write.put(one, workspace.id, "x", once(b"2"), actor=ANN)
        assert await read(one, workspace.ref) == {"x": "2"}
        assert await write.delete(one, workspace.id, ["x"], actor=ANN) == ["x"]
        assert await write.delete(one, workspace.id, ["x"], actor=ANN) == []
        assert await read(one, workspace.ref) == {}
        await write.put(one, workspace.id, "x", once(b"3"), actor=ANN)
        assert await read(one, workspace.ref) == {"x": "3"}
        assert await selection.revert(one, workspace.id, actor=ANN) == 1
        assert await read(one, workspace.ref) == {}
        assert await store.get(f"{root}x") == b"1"
        await write.put(one, workspace.id, "x", once(b"4"), actor=ANN, content_type="text/plain")
        await commit_all(one, workspace)
        assert await read(one, "main") == {"x": "4"}
        assert "/data/" in (await objects.stat(one, "main", "x")).blocks[0].address

    run(play())
