"""A repository in memory whose history a test describes in few words."""

from collections.abc import AsyncIterator, Sequence

from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.entry_table import entries_of
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.tree.tree import Tree
from lochan.versioning import branches, objects
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository

ANN = Actor("ann", "test", "here")


def graph(*edges: str) -> dict[str, Commit]:
    """`graph("a", "b a", "m b a")`: each commit with its parents, oldest first."""
    commits: dict[str, Commit] = {}
    for date, edge in enumerate(edges):
        id, *parents = edge.split()
        generation = max((commits[p].generation + 1 for p in parents), default=0)
        commits[id] = Commit(tuple(parents), "ann", "ann", id, date, {}, "tree", "", generation)
    return commits


class History:
    def __init__(self, repository: OpenRepository) -> None:
        self.repository = repository

    async def write(self, branch: str, changes: str, message: str = "") -> str:
        """`a=1 b=2 -c`, committed; returns the commit."""
        await self.stage(branch, changes)
        id, _ = await commit(self.repository, branch, CommitRequest(message or changes), actor=ANN)
        return id

    async def stage(self, branch: str, changes: str) -> None:
        for word in changes.split():
            if word.startswith("-"):
                await objects.delete(self.repository, branch, [word[1:]], actor=ANN)
            else:
                path, _, text = word.partition("=")
                await objects.put(self.repository, branch, path, once(text.encode()), actor=ANN)

    async def branch(self, name: str, source: str = "main") -> None:
        await branches.create_branch(self.repository, name, source, actor=ANN)

    async def merge(self, source: str, branch: str) -> str:
        return await head_moves.merge(self.repository, source, branch, actor=ANN)

    async def read(self, ref: str) -> str:
        """`a=1 b=2`: all that is there."""
        view = await self.repository.view(await self.repository.resolve(ref))
        return await self._text((await view.list("", "", "", 1_000)).entries)

    async def read_tree(self, tree: Tree) -> str:
        return await self._text(entries_of((await tree.list()).entries))

    async def _text(self, entries: Sequence[Entry]) -> str:
        bodies = [b"".join([chunk async for chunk in objects.read(self.repository, entry)]) for entry in entries]
        return " ".join(f"{entry.path}={body.decode()}" for entry, body in zip(entries, bodies, strict=True))

    async def messages(self, ref: str) -> list[str]:
        """Along the first parents, youngest first."""
        refs, _ = await self.repository.refs()
        id, found = (await self.repository.resolve(ref)).commit_id, []
        while id:
            one = refs.commit(id)
            found.append(one.message)
            id = one.parents[0] if one.parents else ""
        return found


async def history() -> History:
    lake = await Lake.create(MemoryStore())
    await lake.create_repository("demo-repo", actor=ANN)
    return History(await lake.open_repository("demo-repo"))


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data
