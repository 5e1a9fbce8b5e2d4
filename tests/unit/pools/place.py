"""A pool in memory, with objects whose rows are short texts. Only the test knows what they hold, not the lake."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from typing import Any

from lochan.formats.entry import Entry
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.pools.commit_objects import ObjectWriter, Swap, add_objects, delete_objects, replace_objects
from lochan.pools.facts import Facts, ShapeFacts
from lochan.pools.keys import encode
from lochan.pools.merge import PoolJoins, RowMerge
from lochan.pools.objects import object_id
from lochan.pools.shape import Object
from lochan.store.memory import MemoryStore
from lochan.versioning.branches import create_branch
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.heads.rebase import rebase
from lochan.versioning.open_repository import OpenRepository

ANN = Actor("ann", "test", "here")
SETTINGS = PoolSettings((PoolKey(("line",)),))


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


class Pool:
    def __init__(self, repository: OpenRepository) -> None:
        self.repository = repository
        self.computations = 0  # of rows, by an engine

    async def write(self, rows: Iterable[str]) -> Entry:
        """An object that no commit names yet."""
        rows = sorted(rows)
        _, mint = await self.repository.refs()
        low, high = (encode([row], SETTINGS) if rows else b"" for row in (*rows[:1], *rows[-1:]) or ("", ""))
        facts = Facts(len(rows), 0, low, high, (ShapeFacts(1, Object((("line", "string"),)), len(rows)),))
        return await ObjectWriter.of(self.repository, mint).write(once(" ".join(rows).encode()), facts)

    async def load(self, branch: str, *objects: str) -> list[str]:
        """One commit with these objects, each with the rows of a text. Returns their ids."""
        entries = [await self.write(rows.split()) for rows in objects]
        await add_objects(self.repository, branch, entries, CommitMessage(f"load {' '.join(objects)}"), actor=ANN)
        return [object_id(entry.path) for entry in entries]

    async def compact(self, branch: str, *ids: str) -> str:
        """Merges these objects, or all of them, into one. Returns its id."""
        removed = [entry for entry in await self.objects(branch) if not ids or object_id(entry.path) in ids]
        added = await self.write(await self.rows_of(removed))
        await replace_objects(self.repository, branch, Swap(removed, [added]), actor=ANN)
        return object_id(added.path)

    async def delete(self, branch: str, *ids: str) -> str:
        return await delete_objects(self.repository, branch, ids, actor=ANN)

    async def rewrite(self, branch: str, without: str = "", more: str = "") -> None:
        """Like a delete by condition or an upsert: objects with one of these rows, or else the first, are replaced."""
        found = await self.objects(branch)
        hit = [entry for entry in found if set(await self.rows_of([entry])) & set(without.split())] or found[:1]
        rows = [row for row in await self.rows_of(hit) if row not in without.split()] + more.split()
        swap = Swap(hit, [await self.write(rows)] if rows else [])
        await replace_objects(self.repository, branch, swap, actor=ANN, why="delete")

    async def merge(self, source: str, branch: str = "main", **how: Any) -> str:
        return await head_moves.merge(self.repository, source, branch, actor=ANN, **how)

    async def pick(self, ref: str, branch: str = "main") -> str:
        return await head_moves.cherry_pick(self.repository, branch, ref, actor=ANN)

    async def revert(self, ref: str, branch: str = "main") -> str:
        return await head_moves.revert(self.repository, branch, ref, actor=ANN)

    async def rebase(self, branch: str, onto: str = "main") -> str:
        return (await rebase(self.repository, branch, onto, actor=ANN)).head

    async def computed(self, repository: OpenRepository, merge: RowMerge, mint: int) -> list[Entry]:
        """What an engine computes, with rows that are texts."""
        base, ours, theirs = [Counter(await self.rows_of(side)) for side in merge[:3]]
        counts = {row: _count(base[row], ours[row], theirs[row]) for row in sorted(ours | theirs)}
        rows = [row for row, count in counts.items() for _ in range(count)]
        self.computations += 1
        return [await self.write(rows)] if rows else []

    async def branch(self, name: str, source: str = "main") -> None:
        await create_branch(self.repository, name, source, actor=ANN)

    async def objects(self, ref: str) -> list[Entry]:
        from lochan.formats.entry_table import entries_of
        from lochan.pools.objects import entries

        found = await self.repository.resolve(ref)
        return entries_of(await entries(await self.repository.tree(found.commit)))

    async def ids(self, ref: str) -> set[str]:
        return {object_id(entry.path) for entry in await self.objects(ref)}

    async def rows(self, ref: str) -> str:
        """All rows, in order."""
        return " ".join(await self.rows_of(await self.objects(ref)))

    async def rows_of(self, entries: Iterable[Entry]) -> list[str]:
        texts = [(await self.repository.reader.read_all(entry)).decode() for entry in entries]
        return sorted(row for text in texts for row in text.split())

    async def head(self, ref: str = "main") -> str:
        return (await self.repository.resolve(ref)).commit_id


def _count(base: int, ours: int, theirs: int) -> int:
    return ours if ours == theirs else max(0, ours + theirs - base)


async def pool(settings: PoolSettings = SETTINGS) -> Pool:
    lake = await Lake.create(MemoryStore())
    await lake.create_pool("logs", settings, actor=ANN)
    made = Pool(await lake.open_repository("logs"))
    made.repository.joins = PoolJoins(made.repository, made.computed)
    return made
