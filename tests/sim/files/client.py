"""Clients who write bytes (bodies on a branch, files in a workspace, quick and slow) and who collect garbage."""

from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import md5
from typing import TYPE_CHECKING

from lochan.errors import LochanError
from lochan.formats.collection_events import Aliased, Expired
from lochan.formats.record import Actor
from lochan.versioning import copy as copy_module
from lochan.versioning import objects
from lochan.versioning.workspaces import selection
from lochan.versioning.workspaces import write as workspace_write
from tests.sim.files.collector import collect
from tests.sim.files.oracle import FilesOracle, FileWrite
from tests.sim.versioning.client import Client
from tests.sim.versioning.request import FILE, ClientRequest

if TYPE_CHECKING:
    from lochan.formats.entry import Entry

_PAUSE_S = 0.01  # of a slow writer, between two pieces


class FilesClient(Client):
    @property
    def files_oracle(self) -> FilesOracle:
        assert isinstance(self.oracle, FilesOracle)
        return self.oracle

    # --- bodies on a branch ------------------------------------------------------------------------------------------
    async def write(self, branch: str, path: str, text: str = "") -> bool | None:
        body = text.encode() or self._body()
        return await self.ask(
            ClientRequest("put", branch),
            lambda actor: objects.put(self.repository, branch, path, pieces(body), actor=actor),
        )

    async def copy(self, branch: str, source: str, target: str) -> bool | None:
        return await self.ask(
            ClientRequest("copy", branch),
            lambda actor: copy_module.copy(self.repository, branch, source, branch, target, actor=actor),
        )

    # --- files of a workspace ----------------------------------------------------------------------------------------
    async def put_at(self, workspace: str, path: str, *, slow: bool = False, noted: bool = False) -> None:
        """As a plain file if the path is new; with `noted`, staged in any case."""
        body = self._body()
        chunks = self._slowly(body) if slow else pieces(body)
        metadata = {"k": "v"} if noted else {}
        value = md5(body, usedforsecurity=False).hexdigest()
        await self._file(
            workspace,
            {path: value},
            lambda actor: workspace_write.put(self.repository, workspace, path, chunks, actor=actor, metadata=metadata),
        )

    async def delete_at(self, workspace: str, path: str) -> None:
        await self._file(
            workspace,
            {path: None},
            lambda actor: workspace_write.delete(self.repository, workspace, [path], actor=actor),
        )

    async def revert_in(self, workspace: str, path: str) -> None:
        """Reverts to what the commit below holds. Changes staged after it looked may be reverted silently."""
        self.files_oracle.update()
        found = self.files_oracle.model.workspaces.get(workspace)
        if found is not None:
            below = self.files_oracle.model.trees[found.fork].get(path)
            await self._file(
                workspace,
                {path: below},
                lambda actor: selection.revert(self.repository, workspace, [path], actor=actor),
                unsure=True,
            )

    async def put_outside(self, workspace: str, path: str) -> None:
        """Like a program that knows only the store."""
        body = self._body()
        [write] = self._begun(workspace, {path: md5(body, usedforsecurity=False).hexdigest()})
        await self.repository.store.put(self.repository.folder(workspace).address(path), body)
        write.how, write.ended = "done", self.files_oracle.moment()

    async def _file(
        self,
        workspace: str,
        changes: dict[str, str | None],
        call: Callable[[Actor], Awaitable[object]],
        *,
        unsure: bool = False,
    ) -> None:
        """A missing file is not deleted, and an unknown one may be either; with `unsure`, even if the request did
        nothing."""
        writes = self._begun(workspace, changes)
        nothing: list[bool] = []

        async def called(actor: Actor) -> None:
            nothing.append(not await call(actor))

        done = await self.ask(ClientRequest(FILE, workspace=workspace), called)
        if done is None or (done and nothing[-1] and unsure):
            return
        for write in writes:
            write.how = "done" if done and not nothing[-1] else "refused"
            write.ended = self.files_oracle.moment()

    def _begun(self, workspace: str, changes: dict[str, str | None]) -> list[FileWrite]:
        begun = self.files_oracle.moment()
        writes = [FileWrite(workspace, path, value, begun) for path, value in changes.items()]
        self.files_oracle.writes += writes
        return writes

    # --- upkeep ------------------------------------------------------------------------------------------------------
    async def collect(self) -> None:
        await collect(self.repository, Actor("user", self.name, "collect"))

    async def expire(self, commit: str) -> None:
        await self._quietly(Expired((commit,)))

    async def alias(self, source: str, target: str) -> None:
        """Declares that the objects at these paths of main hold the same bytes."""
        _, read_at = await self.repository.refs()
        both: list[Entry] = [await objects.stat(self.repository, "main", path) for path in (source, target)]
        one, other = [entry.blocks[0] for entry in both]
        if one.sha256 == other.sha256:
            await self._quietly(Aliased(one.address, other.address, read_at))

    async def _quietly(self, *events: Expired | Aliased) -> None:
        try:
            await self.repository.submit(Actor("user", self.name, ""), *events)
        except LochanError:
            return

    # --- bytes -------------------------------------------------------------------------------------------------------
    def _body(self) -> bytes:
        self.place.written += 1
        return f"body {self.place.written} of {self.name}".encode()

    async def _slowly(self, body: bytes) -> AsyncIterator[bytes]:
        yield body[: len(body) // 2]
        await self.machine.clock.sleep(_PAUSE_S)
        yield body[len(body) // 2 :]


async def pieces(body: bytes) -> AsyncIterator[bytes]:
    yield body
