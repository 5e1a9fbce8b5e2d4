"""Clients of a simulated pool. They use the real verbs, alone and as the actions of a scene."""

from collections.abc import Awaitable, Callable

from lochan.formats.entry import Entry
from lochan.formats.entry_table import entries_of
from lochan.formats.record import Actor
from lochan.pools.commit_objects import Swap, add_objects, change_objects, replace_objects
from lochan.pools.objects import entries
from lochan.tree.tree import Tree
from lochan.versioning import branches, objects
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.joins import MoveBase
from tests.sim.pools.place import PoolPlace
from tests.sim.pools.rows import rows_of
from tests.sim.versioning.base_client import BaseClient
from tests.sim.versioning.request import ClientRequest

Act = Callable[["PoolClient"], Awaitable[object]]


class PoolClient(BaseClient):
    place: PoolPlace  # type: ignore[assignment]

    async def load(self, branch: str, *rows: str) -> bool | None:
        made = [self.place.object([row]) for row in rows]
        request = ClientRequest("load", branch, paths=rows)
        return await self.ask(request, lambda actor: add_objects(self.repository, branch, made, actor=actor))

    async def compact(self, branch: str) -> bool | None:
        async def work(actor: Actor) -> None:
            refs, _ = await self.repository.refs()
            found = await self._objects(await self.repository.tree(refs.commit(refs.branch(branch).head)))
            swap = Swap(found, [self.place.object(rows_of(found))])
            await replace_objects(self.repository, branch, swap, actor=actor)

        return await self.ask(ClientRequest("compact", branch), work)

    async def delete(self, branch: str, prefix: str) -> bool | None:
        """Deletes the rows with this prefix, in whatever objects they are."""

        async def decide(on: MoveBase, tree: Tree) -> Swap:
            hit = [each for each in await self._objects(tree) if any(row.startswith(prefix) for row in rows_of([each]))]
            rows = [row for row in rows_of(hit) if not row.startswith(prefix)]
            return Swap(hit, [self.place.object(rows)] if rows else [])

        request = ClientRequest("delete", branch, paths=(prefix,))
        return await self.ask(
            request, lambda actor: change_objects(self.repository, branch, "delete", decide, actor=actor)
        )

    async def merge(self, source: str, branch: str) -> bool | None:
        return await self.ask(
            ClientRequest("merge", branch, source=source),
            lambda actor: head_moves.merge(self.repository, source, branch, actor=actor),
        )

    async def pick(self, branch: str, ref: str) -> bool | None:
        id = (await self.repository.resolve(ref)).commit_id
        return await self.ask(
            ClientRequest("cherry-pick", branch, commit=id),
            lambda actor: head_moves.cherry_pick(self.repository, branch, id, actor=actor),
        )

    async def revert(self, branch: str, ref: str) -> bool | None:
        id = (await self.repository.resolve(ref)).commit_id
        return await self.ask(
            ClientRequest("revert", branch, commit=id),
            lambda actor: head_moves.revert(self.repository, branch, id, actor=actor),
        )

    async def create(self, branch: str) -> bool | None:
        return await self.ask(
            ClientRequest("create", branch),
            lambda actor: branches.create_branch(self.repository, branch, "main", actor=actor),
        )

    async def put(self, branch: str) -> bool | None:
        """Like a program that mistakes the pool for a repository of files."""
        made = [self.place.object(["x"])]
        return await self.ask(
            ClientRequest("put", branch), lambda actor: objects.put_many(self.repository, branch, made, actor=actor)
        )

    async def _objects(self, tree: Tree) -> list[Entry]:
        return entries_of(await entries(tree))


def load(branch: str, *rows: str) -> Act:
    return lambda client: client.load(branch, *rows)


def compact(branch: str) -> Act:
    return lambda client: client.compact(branch)


def delete(branch: str, prefix: str) -> Act:
    return lambda client: client.delete(branch, prefix)


def merge(source: str, branch: str) -> Act:
    return lambda client: client.merge(source, branch)


def pick(branch: str, ref: str) -> Act:
    return lambda client: client.pick(branch, ref)


def revert(branch: str, ref: str) -> Act:
    return lambda client: client.revert(branch, ref)


def create(branch: str) -> Act:
    return lambda client: client.create(branch)


def put(branch: str) -> Act:
    return lambda client: client.put(branch)
